"""A rate for everybody together, dealt out in turn to the senders that wait, so that one of them cannot use all of it."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable

from shuffledp.service.shuffler.fair_shares import FairShares
from shuffledp.service.shuffler.rate_limit import RateLimit
from shuffledp.service.shuffler.waiting_uploads import TooManyWaiting


class Turn:
    """Reports of one sender that wait until they may be written down.

    Attributes:
        dealt: how many of them are allowed so far.
        refused: whether they had to give way to others.
        over: whether all are allowed, or none will be.
    """

    def __init__(self, sender: str, reports: int) -> None:
        self.sender, self.reports, self.dealt, self.refused = sender, reports, 0, False
        self.over = asyncio.Event()


class SharedRate:
    """A number of reports per second for all senders together.

    Those who wait get the same number of reports each, one after the other: a sender of many waits for its own, and makes
    nobody else wait for them.

    Args:
        per_second: reports.
        window: seconds for which reports may come at once.
        waiting: uploads that may wait; whoever has most of them gives way.
        clock: seconds.

    Attributes:
        most: reports that may come at once; at least one.
    """

    def __init__(self, per_second: float, window: float, waiting: int, clock: Callable[[], float]) -> None:
        self._rate, self._per_second = RateLimit(per_second, window, clock), per_second
        self.most = self._rate.most
        self._room = FairShares(waiting)
        self._waiting: OrderedDict[str, deque[Turn]] = OrderedDict()
        self._reports = 0
        self._timer: asyncio.TimerHandle | None = None

    async def take(self, sender: str, reports: int, patience: float) -> None:
        """Wait for a turn.

        Raises:
            TooManyWaiting: too many uploads are waiting.
            TimeoutError: it did not come in so many seconds.
        """
        turn = self.join(sender, reports)
        try:
            if not turn.over.is_set():
                self._deal_later()
                async with asyncio.timeout(patience):
                    await turn.over.wait()
        except BaseException:
            self.leave(turn)
            raise
        if turn.refused:
            raise TooManyWaiting

    def join(self, sender: str, reports: int) -> Turn:
        """Begin to wait, behind whatever the same sender waits for. It is over at once if there is enough for everybody."""
        turn = Turn(sender, reports)
        if self._room.lack(1):
            other = self._room.giving_way(sender, 1)
            self._refuse(turn if other == sender else self._waiting[other][-1])
        if not turn.refused:
            self._waiting.setdefault(sender, deque()).append(turn)
            self._room.take(sender, 1)
            self._reports += reports
            self.deal()
        return turn

    def _refuse(self, turn: Turn) -> None:
        turn.refused = True
        self.leave(turn)
        turn.over.set()

    def leave(self, turn: Turn) -> None:
        """Wait no longer, or make no use of a turn: what it was dealt is for the others."""
        queue = self._waiting.get(turn.sender, deque())
        if turn in queue:
            self._remove(turn, queue)
        dealt, turn.dealt = turn.dealt, 0
        self.give_back(dealt)

    def _remove(self, turn: Turn, queue: deque[Turn]) -> None:
        queue.remove(turn)
        self._room.give_back(turn.sender, 1)
        self._reports -= turn.reports
        if not queue:
            self._waiting.pop(turn.sender, None)

    def give_back(self, reports: int) -> None:
        """Reports that had their turn and were not accepted: the others get them."""
        self._rate.give_back("", reports)
        self.deal()

    def deal(self) -> None:
        """Give those who wait what there is now, in rounds: to each the same, and one report at least."""
        while self._waiting and (there := int(self._rate.level(""))):
            each = max(1, there // len(self._waiting))
            for sender in list(self._waiting)[:there]:
                self._deal_to(sender, each)

    def _deal_to(self, sender: str, most: int) -> None:
        queue = self._waiting[sender]
        self._waiting.move_to_end(sender)
        turn = queue[0]
        given = min(turn.reports - turn.dealt, most)
        self._rate.take("", given)
        turn.dealt += given
        if turn.dealt == turn.reports:
            self._remove(turn, queue)
            turn.over.set()

    def wait(self, reports: int = 0) -> float:
        """Seconds after which all who wait now will have had their turn, and so many more reports."""
        return self._rate.wait("", self._reports + reports)

    def _deal_later(self) -> None:
        """Look again when there may be another report to deal."""
        if self._timer is None:
            pause = max(0.01, self._rate.wait("", 1))
            self._timer = asyncio.get_running_loop().call_later(pause, self._deal_on_time)

    def _deal_on_time(self) -> None:
        self._timer = None
        self.deal()
        if self._waiting:
            self._deal_later()
