"""Flower: a mod for clients, a strategy for the server, and a grid that runs both in one process.

In Flower the server's process receives each reply with the node that sent it. So nobody stands between clients and server unless
somebody is put there: the strategy takes the senders off and shuffles, and whoever runs it could look before it does. That is
why it wants to be told who shuffles (`shuffled_by`). The guarantee holds against everybody who sees models, and not against
that party, from whom only the noise of single messages protects (`Plan.epsilon0` for each round).

Flower is imported when it is first used. It sends statistics to its makers unless FLWR_TELEMETRY_ENABLED is 0.
"""

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shuffledp.core.digits import at_most, counted, rounded_up
from shuffledp.core.installed import not_installed
from shuffledp.errors import InvalidInput, NoClaim
from shuffledp.federated.rounds import Rounds
from shuffledp.federated.shuffling import shuffled
from shuffledp.federated.update_encoder import UpdateEncoder, protocol_of
from shuffledp.planning.plan import Plan
from shuffledp.service.analyzer.ledger import Ledger

ARRAYS: Final = "arrays"
"""The record that holds the model, as in Flower's own strategies."""
CONFIG: Final = "config"
ROUND: Final = "server-round"
REPORT: Final = "report"
"""The one record of a reply."""
MESSAGES: Final = "messages"
STATE: Final = "shuffledp"
"""The record of a client's own state, which Flower keeps where the client is."""
_NOTED: Final = ("clipped", "unusable", "failed")
"""In how many rounds the update was cut down, was no finite numbers, or was not made: kept there."""
_TRAIN: Final = "train"
_REFUSED: Final = 2
"""Flower's code for a client's app that did not do what it was asked."""
_LOG: Final = logging.getLogger("shuffledp.federated")

Mod = Callable[[Any, Any, Callable[[Any, Any], Any]], Any]


def report_mod(plan: Plan) -> Mod:
    """What a client's app is wrapped in: it sends one small report in place of the model that was trained.

    `ClientApp` takes it in `mods`, or `@app.train(mods=[...])` does. The plan is the client's own copy: nothing that a server
    sends changes what is sent. Everything else that the app replies, such as a loss or a number of examples, is left out.
    An app that fails sends a report of no change, because that it failed may depend on its data; its own log says why.
    Whether updates were clipped is noted in the context's state, which stays here.
    Messages that are not about training are refused, because an evaluation's answer would leave without any protection.
    A client takes part in as many rounds of a run as the plan is for, and in each once.
    """
    encoder, flower = UpdateEncoder(plan), _flower().app
    most = math.inf if plan.over_time is None else plan.over_time.per_person

    def mod(message: Any, context: Any, call_next: Callable[[Any, Any], Any]) -> Any:
        def failed(reason: str) -> Any:
            return flower.Message(flower.Error(_REFUSED, reason), reply_to=message)

        if message.metadata.message_type.partition(".")[0] != _TRAIN:
            return failed("only training is private here. Evaluate at the server, on public data.")
        number, before = _round_of(message), _vector(message)
        if before is None or len(before) != encoder.dimension:
            return failed(f"the plan is for a model of {encoder.dimension:,} numbers. Plan for this one.")
        state = context.state.metric_records.get(STATE)
        if state is None:
            state = context.state[STATE] = flower.MetricRecord(dict.fromkeys(("rounds", "last", *_NOTED), 0))
        if number is None or number <= state["last"] or state["rounds"] >= most:
            return failed("this round is repeated or one too many. Plan for more rounds.")
        state["rounds"], state["last"] = state["rounds"] + 1, number
        try:
            after = _vector(call_next(message, context))
            if after is None or after.shape != before.shape:
                raise InvalidInput("the app's reply has other arrays than it got. Reply with these, trained.")
        except (
            Exception
        ) as error:  # Flower would send what it says, which may depend on the data, as may that there is one
            _LOG.error("training failed at this client with %s, and it reports no change", type(error).__name__)
            state["failed"] += 1
            after = before
        with np.errstate(invalid="ignore", over="ignore"):
            encoded = encoder.encode((after - before)[None])
        state["clipped"] += encoded.clipped
        state["unusable"] += encoded.unusable
        report = flower.MetricRecord({ROUND: number, MESSAGES: encoded.reports[0]})
        return flower.Message(flower.RecordDict({REPORT: report}), reply_to=message)

    return mod


class Averaging:
    """What the strategy adds to Flower's base class. Make it with `shuffled_averaging`.

    Attributes:
        rounds: what was booked.
        refused: why a round changed nothing, by its number.
    """

    def __init__(self, plan: Plan, ledger: Ledger, *, shuffled_by: str, learning_rate: float) -> None:
        if not isinstance(shuffled_by, str) or not shuffled_by.strip():
            raise InvalidInput(
                "nobody is named as the one who shuffles. Say who runs this strategy, e.g. shuffled_by='the clinic's IT'."
            )
        if not 0 < learning_rate < math.inf:
            raise InvalidInput("`learning_rate` is above 0. Give e.g. 1.0.")
        self.rounds, self.refused = Rounds(plan, ledger), dict[int, str]()
        self._by, self._rate, self._plan = shuffled_by, learning_rate, plan
        self._dimension = protocol_of(plan).domain.dimension
        self._asked: set[int] = set()
        self._arrays: Any = None

    def summary(self) -> None:
        """Log what is promised, and to whom it is not."""
        log, local = logging.getLogger("flwr"), at_most(self._plan.epsilon0)
        log.info("\t├──> Each round: %s", self._plan.guarantee)
        log.info("\t├──> This holds against all who see models, and not against %s, who shuffles", self._by)
        log.info("\t└──> Against %s: epsilon0 = %s for each round", self._by, local)

    def configure_train(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Iterable[Any]:
        """Ask all clients that are there, if they are enough and the budget allows it; nobody otherwise."""
        flower = _flower().app
        size = sum(array.size for array in arrays.to_numpy_ndarrays())
        if size != self._dimension:
            raise InvalidInput(
                f"the model has {size:,} numbers, and the plan is for {self._dimension:,}. Plan with dimension={size}."
            )
        self._arrays, self._asked = arrays, set()
        nodes = list(grid.get_node_ids())
        if len(nodes) < self._plan.min_batch:
            return self._refuse(
                server_round, f"{counted(len(nodes), 'client')} there, and the plan needs {self._plan.min_batch:,}"
            )
        try:
            balance = self.rounds.begin()
        except NoClaim as error:
            return self._refuse(server_round, str(error))
        _LOG.info("round %s booked: epsilon = %s spent", server_round, rounded_up(balance.spent_epsilon))
        self._asked = set(nodes)
        record = flower.RecordDict({ARRAYS: arrays, CONFIG: flower.ConfigRecord({**config, ROUND: server_round})})
        return [flower.Message(record, dst_node_id=node, message_type=_TRAIN) for node in nodes]

    def aggregate_train(self, server_round: int, replies: Iterable[Any]) -> tuple[Any, Any]:
        """The model moved by the mean update; no model if the round was refused or too few reports came."""
        flower = _flower().app
        if not self._asked:
            return None, None
        reports, failed = self._reports(server_round, replies)
        found = shuffled(self._plan, reports)
        counts = {"reports": found.clients, "rejected": found.rejected, "failed": failed}
        try:
            mean = self.rounds.mean(found)
        except InvalidInput as error:
            self._refuse(server_round, str(error))
            return None, flower.MetricRecord(counts)
        finally:
            self._asked = set()
        errors = {"standard-error": float(np.sqrt(np.square(mean.standard_error).sum()))}
        return self._moved(self._rate * mean.value), flower.MetricRecord(counts | errors)

    def configure_evaluate(self, server_round: int, arrays: Any, config: Any, grid: Any) -> Iterable[Any]:  # noqa: ARG002
        """Ask nobody: what clients answer would not be private. `start` takes an `evaluate_fn` for public data."""
        return []

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Any]) -> None:
        """Make nothing of any."""

    def _refuse(self, server_round: int, reason: str) -> list[Any]:
        self.refused[server_round] = reason
        _LOG.warning("round %s is refused, and the model stays as it is: %s", server_round, reason)
        return []

    def _reports(self, server_round: int, replies: Iterable[Any]) -> tuple[list[object], int]:
        """What each client sent for this round, and how many said that they failed; of two replies of a client the first."""
        reports: list[object] = []
        failed, seen = 0, set[int]()
        for reply in replies:
            node = reply.metadata.src_node_id
            if reply.has_error():
                failed += 1
                continue
            reports.append(_report_of(reply, server_round) if node in self._asked - seen else None)
            seen.add(node)
        return reports, failed

    def _moved(self, change: NDArray[np.float64]) -> Any:
        flower = _flower().app
        moved, start = {}, 0
        for name, array in self._arrays.items():
            old = array.numpy()
            part = change[start : start + old.size].reshape(old.shape)
            moved[name] = flower.Array((old + part).astype(old.dtype))
            start += old.size
        return flower.ArrayRecord(moved)


def shuffled_averaging(plan: Plan, ledger: Ledger, *, shuffled_by: str, learning_rate: float = 1.0) -> Any:
    """A strategy of Flower: it decodes the clients' reports into the mean update, and books every round before it is asked.

    Args:
        plan: of one round, by `plan.vector`, with `rounds` for all of them. The clients' mods have the same one.
        ledger: whose budget the rounds must fit in. A round that does not fit is refused, and the model stays as it is.
        shuffled_by: who runs this, in words. It sees which client sent what, and must not use it: the guarantee does not hold
            against it.
        learning_rate: what the mean update is multiplied by.
    """
    base = _flower().serverapp.strategy.Strategy
    made = type("ShuffledAveraging", (Averaging, base), {"__doc__": Averaging.__doc__})
    return made(plan, ledger, shuffled_by=shuffled_by, learning_rate=learning_rate)


class InProcess:
    """What the grid adds to Flower's base class. Make it with `in_process_grid`."""

    def __init__(self, app: Callable[[Any, Any], Any], contexts: Sequence[Any]) -> None:
        self._app, self._contexts = app, {context.node_id: context for context in contexts}

    run: Any = None

    def set_run(self, run: Any) -> None:
        """Keep what Flower says about the run."""
        self.run = run

    def get_node_ids(self) -> Iterable[int]:
        """All clients, by their numbers."""
        return list(self._contexts)

    def create_message(self, content: Any, message_type: str, dst_node_id: int, group_id: str, ttl: Any = None) -> Any:
        """A message of Flower."""
        return _flower().app.Message(
            content, dst_node_id=dst_node_id, message_type=message_type, ttl=ttl, group_id=group_id
        )

    def push_messages(self, messages: Iterable[Any]) -> Iterable[str]:  # noqa: ARG002
        """Refuse: nothing is sent here without waiting for the reply."""
        raise InvalidInput("clients in this process reply at once. Use send_and_receive.")

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Any]:  # noqa: ARG002
        """Refuse, likewise."""
        raise InvalidInput("clients in this process reply at once. Use send_and_receive.")

    def send_and_receive(self, messages: Iterable[Any], *, timeout: float | None = None) -> Iterable[Any]:  # noqa: ARG002
        """What the app of each client replies, one after the other."""
        return [self._app(message, self._contexts[message.metadata.dst_node_id]) for message in messages]


def in_process_grid(app: Callable[[Any, Any], Any], contexts: Sequence[Any]) -> Any:
    """A grid of Flower whose clients are calls of a `ClientApp` in this process, one context each: for simulations and tests.

    It needs no Ray and no network. The process sees everything that clients do, so it protects nobody.
    """
    base, identity = _flower().serverapp.Grid, _flower().supercore.task_identity.TaskIdentity
    identity.task_id = identity.run_id = identity.node_id = (
        1  # as Flower's processes say of themselves; messages hold it
    )
    return type("InProcessGrid", (InProcess, base), {"__doc__": InProcess.__doc__})(app, contexts)


def _flower() -> Any:
    """Flower, with the parts that are used here."""
    try:
        import flwr.app
        import flwr.serverapp.strategy
        import flwr.supercore.task_identity
    except ModuleNotFoundError:
        raise not_installed("federated averaging with Flower needs flwr 1.41 or newer", "flower") from None
    return flwr


def _round_of(message: Any) -> int | None:
    config = message.content.config_records.get(CONFIG, {}) if message.has_content() else {}
    number = config.get(ROUND)
    return number if type(number) is int and number > 0 else None


def _vector(message: Any) -> NDArray[np.float64] | None:
    """The numbers of a message's arrays, one after the other; None if it has no such record, or several."""
    records = list(message.content.array_records.values()) if message.has_content() else []
    if len(records) != 1:
        return None
    parts = [np.ravel(array).astype(np.float64) for array in records[0].to_numpy_ndarrays()]
    return np.concatenate(parts) if parts else None


def _report_of(reply: Any, server_round: int) -> object:
    """The messages that a reply holds for this round, whatever they are; None if it holds none."""
    record = reply.content.metric_records.get(REPORT)
    if record is None or record.get(ROUND) != server_round:
        return None
    return record.get(MESSAGES)
