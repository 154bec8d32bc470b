"""What goes with a plan: a notice for the people who are asked, and a notebook."""

import json
import math

from shuffledp.core.digits import rounded_up
from shuffledp.core.guarantee import claim
from shuffledp.figures.markup import escaped
from shuffledp.planning.plan import Plan
from shuffledp.version import VERSION
from shuffledp.web.risk import frequency, sentence

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>What happens to your answer</title>
<style>
body {{ max-width: 42rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }}
body {{ color: #1a1a1a; background: #ffffff; }}
h1 {{ font-size: 1.6rem; }} h2 {{ font-size: 1.1rem; margin: 1.4rem 0 0.2rem; }}
p {{ margin: 0.3rem 0; overflow-wrap: anywhere; }}
.fill {{ border-bottom: 1px solid #777777; display: inline-block; min-width: 16rem; }}
</style>
</head>
<body>
<h1>What happens to your answer</h1>
{body}
<h2>Who asks</h2>
<p>Organiser: <span class="fill">&nbsp;</span></p>
<p>Questions to: <span class="fill">&nbsp;</span></p>
</body>
</html>
"""


def notice(made: Plan, right: float, *, people: int) -> str:
    """One page for participants, in plain words; `right` is how often an informed guess about one of them is right at most."""
    guarantee, total = made.guarantee, made.over_time
    often = "once" if total is None else f"up to {total.per_person:,} times"
    epsilon = guarantee.epsilon if total is None else total.epsilon
    alone = (
        "Your report is not protected on its own: anyone who sees it before it is mixed may learn your answer."
        if math.isinf(made.epsilon0)
        else "Even on its own your report is blurred, but less: anyone who sees it before it is mixed learns more than is said "
        f"above (local epsilon0 = {rounded_up(made.epsilon0)} for each report)."
    )
    parts = {
        "What is asked": [
            *([f"“{made.wording.question}”"] if made.wording.question else []),
            f"About {people:,} people are asked, {often}. Taking part is voluntary.",
        ],
        "What leaves your device": [
            "Your answer is changed at random before it is sent. In technical words: " + made.protocol.sentence() + ".",
            f"Your report is mixed with those of others, and nobody looks before there are {made.min_batch:,} of them.",
        ],
        "What somebody could learn about you": [
            sentence(*frequency(right)),
            "This holds for somebody who knows the answers of everybody else and only has to tell which of two equally likely "
            "answers is yours; others learn less.",
        ],
        "Whom you rely on": [
            f"At least {guarantee.n:,} of the reports must come from people who follow the rules, and whoever mixes the reports "
            "must not work together with whoever counts them.",
            alone,
        ],
        "What is not hidden": [
            "That you took part, and what the answers of everybody together show: that is what the collection is for.",
        ],
        "In technical words": [
            f"All of it together is {claim(epsilon, guarantee.delta)} (replace-one neighbours, number of users public; proved by "
            f"the {guarantee.bound} bound of shuffledp {VERSION}).",
            f"Plan: SHA-256 {made.sha256}",
        ],
    }
    about = f"<p>{escaped(made.wording.title)}</p>\n" if made.wording.title else ""
    body = about + "\n".join(
        f"<h2>{escaped(title)}</h2>\n" + "\n".join(f"<p>{escaped(line)}</p>" for line in lines)
        for title, lines in parts.items()
    )
    return _PAGE.format(body=body)


def notebook(question: str, lines: str) -> str:
    """The plan as a notebook: made, explained, drawn and written."""
    cells = [
        _words(f"# A plan for {question}", "", "Made with `shuffledp web`; the numbers below are computed anew."),
        _code(*lines.splitlines()),
        _words("What it guarantees, and what becomes of that if fewer reports come."),
        _code("made.guarantee"),
        _code("made.plot()"),
        _words("The plan as a file, which configures clients, shuffler and analyzer."),
        _code(
            "import json",
            "from pathlib import Path",
            "",
            'Path("plan.json").write_text(json.dumps(made.document(), indent=2) + "\\n")',
        ),
    ]
    for j, cell in enumerate(cells):
        cell["id"] = f"cell-{j}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1) + "\n"


def _words(*lines: str) -> dict[str, object]:
    return {"cell_type": "markdown", "metadata": {}, "source": "\n".join(lines)}


def _code(*lines: str) -> dict[str, object]:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": "\n".join(lines)}
