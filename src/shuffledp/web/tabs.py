"""Every tab of the page, in order."""

from typing import Final

from shuffledp.web.account import ACCOUNT
from shuffledp.web.blanket import BLANKET
from shuffledp.web.compare import COMPARE
from shuffledp.web.crowd import CROWD
from shuffledp.web.form import Tab
from shuffledp.web.plan import PLAN

TABS: Final[dict[str, Tab]] = {tab.name: tab for tab in (PLAN, ACCOUNT, COMPARE, BLANKET, CROWD)}
