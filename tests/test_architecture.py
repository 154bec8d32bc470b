"""What the layers cannot say, read off the syntax trees: kinds are not asked about, and raw values become clean in one place."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shuffledp.baselines.registry import protocols
from shuffledp.planning.registry import questions
from shuffledp.randomizers.registry import RANDOMIZERS

SOURCES = Path(__file__).parents[1] / "src" / "shuffledp"
NAMES = {"histogram", "sum", "mean", "query", "summation", *protocols(), *questions()}
"""Kinds of protocols and names of questions."""
RANDOMIZER_NAMES = {"Channel", "Gaussian", "Generic", "Laplace", "LatticeChannel", "RandomizedResponse"}
"""Those that `shuffledp` itself offers."""
CLEANERS = {"numbers", "positions", "settle_missing", "refusal"}
"""What domains are made of."""
Rule = Callable[[ast.Module], Iterator[ast.AST]]


def texts(node: ast.AST) -> set[str]:
    """Constants in an operand, alone or listed."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def imported(tree: ast.Module) -> Iterator[tuple[ast.AST, str, str, str]]:
    """Where, from which module, what, and under which name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node, node.module or "", alias.name, alias.asname or alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name, "", alias.asname or alias.name.split(".")[0]


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def compares_kinds(tree: ast.Module) -> Iterator[ast.AST]:
    """A comparison with, or a match of, the kind of a protocol or the name of a question."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            if any(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in node.ops):
                yield from (node for operand in operands if texts(operand) & NAMES)
        elif isinstance(node, ast.MatchValue) and texts(node.value) & NAMES:
            yield node
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("startswith", "endswith", "__eq__") and any(texts(a) & NAMES for a in node.args)
        ):  # fmt: skip
            yield node


def asks_for_classes(tree: ast.Module) -> Iterator[ast.AST]:
    """An isinstance, issubclass or match with a class of protocols, or a look at whether it has an attribute."""
    classes, modules = set[str](), set[str]()
    for _, module, what, name in imported(tree):
        if within(module, "shuffledp.protocols") or within(module, "shuffledp.baselines"):
            (classes if what[:1].isupper() else modules).add(name)
        elif module == "shuffledp" and what in ("Histogram", "Summation"):
            classes.add(name)
        elif (module, what) == ("shuffledp", "protocols"):
            modules.add(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            inside = [part for argument in node.args[1:] for part in ast.walk(argument)]
            of_protocols = any(isinstance(part, ast.Name) and part.id in classes | modules for part in inside)
            if node.func.id in ("isinstance", "issubclass") and of_protocols:
                yield node
            if node.func.id == "hasattr" and "protocol" in ast.unparse(node.args[0]):
                yield node
        elif isinstance(node, ast.MatchClass) and ast.unparse(node.cls).split(".")[0] in classes | modules:
            yield node


def asks_for_randomizers(tree: ast.Module) -> Iterator[ast.AST]:
    """An isinstance, issubclass, match or look at the type with a class of randomizers: they say themselves what they can do.

    Interfaces (`core/randomizer.py`, `randomizers/structure.py`) may be asked for.
    """
    classes = set[str]()
    for _, module, what, name in imported(tree):
        inside = within(module, "shuffledp.randomizers") and module != "shuffledp.randomizers.structure"
        if inside or (module == "shuffledp" and what in RANDOMIZER_NAMES):
            classes.add(name)
    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            parts = [part for argument in node.args[1:] for part in ast.walk(argument)]
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(isinstance(side, ast.Call) and ast.unparse(side.func) == "type" for side in sides):
                parts = [part for side in sides for part in ast.walk(side)]
            elif any(isinstance(side, ast.Attribute) and side.attr == "kind" for side in sides):
                parts = [part for side in sides for part in ast.walk(side)]
                if any(texts(side) & set(RANDOMIZERS) for side in sides):
                    yield node
        elif isinstance(node, ast.MatchClass):
            parts = list(ast.walk(node.cls))
        if any(isinstance(part, ast.Name) and part.id in classes for part in parts):
            yield node


def cleans(tree: ast.Module) -> Iterator[ast.AST]:
    """The parts of `Domain.clean` used by themselves."""
    for node, module, what, _ in imported(tree):
        if within(module, "shuffledp.domains") and what in CLEANERS:
            yield node
        if module == "shuffledp.domains" and what == "columns":
            yield node
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in ("_find", "_place"))


def computes(tree: ast.Module) -> Iterator[ast.AST]:
    """Arrow's functions on columns."""
    arrow = {name for _, module, what, name in imported(tree) if (module, what) == ("pyarrow", "")}
    for node, module, what, _ in imported(tree):
        if within(module, "pyarrow.compute") or (module, what) == ("pyarrow", "compute"):
            yield node
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "compute" and ast.unparse(node.value) in arrow:
            yield node


def encodes(tree: ast.Module) -> Iterator[ast.AST]:
    """Values made symbols: a text's own `encode` has no first_row, and no protocol before the dot."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "encode":
            rows = any(keyword.arg == "first_row" for keyword in node.keywords)
            if rows or "protocol" in ast.unparse(node.func.value) or len(node.args) > 2:
                yield node


def asks_a_domain(tree: ast.Module) -> Iterator[ast.AST]:
    """Raw values made clean: the one function that goes on to messages does that."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "clean":
            yield node


def parses(tree: ast.Module) -> Iterator[ast.AST]:
    """A text made JSON data or TOML: one reader decides about depth, names that occur twice and numbers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            module = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
            loads = node.func.attr in ("load", "loads", "JSONDecoder") and module in ("json", "tomllib", "orjson")
            if loads or (node.func.attr == "json" and not node.args):
                yield node
    yield from (node for node, module, what, _ in imported(tree) if module in ("json", "tomllib") and what)


def prints(tree: ast.Module) -> Iterator[ast.AST]:
    """Words sent to a terminal: one place shows whatever they quote letter by letter."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            echoed = node.func.attr in ("echo", "secho", "echo_via_pager")
            if echoed or (node.func.attr == "write" and ast.unparse(node.func.value) in ("sys.stdout", "sys.stderr")):
                yield node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "echo"):
            yield node


def imports_by_name(tree: ast.Module) -> Iterator[ast.AST]:
    """A module loaded by a name at run time, which no layer can see."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__"):
            yield node


RULES: dict[Rule, tuple[str, ...]] = {
    compares_kinds: ("protocols/", "planning/", "baselines/"),
    asks_for_classes: ("protocols/", "planning/", "baselines/"),
    asks_for_randomizers: ("randomizers/",),
    cleans: ("domains/",),
    computes: ("domains/", "sources/"),
    encodes: ("protocols/one_message.py", "protocols/noised_messages.py", "protocols/with_dummies.py"),
    asks_a_domain: ("domains/", "protocols/randomized.py"),
    parses: ("core/parsing.py", "sources/expression.py"),
    prints: ("cli/output.py", "cli/progress.py"),
    imports_by_name: ("__init__.py", "cli/__init__.py"),  # names and commands that are loaded when they are first used
}
"""Each rule, and where it does not hold."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_rule_holds(rule: Rule) -> None:
    found = []
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if not name.startswith(RULES[rule]):
            found += [
                f"{name}:{getattr(node, 'lineno', 0)}" for node in rule(ast.parse(path.read_text(encoding="utf-8")))
            ]
    assert not found, rule.__doc__


def test_there_is_something_to_find_where_the_rules_do_not_hold() -> None:
    """Else a renamed function would leave a rule that never fires."""
    for rule, places in RULES.items():
        paths = [path for path in SOURCES.rglob("*.py") if path.relative_to(SOURCES).as_posix().startswith(places)]
        assert any(True for path in paths for _ in rule(ast.parse(path.read_text(encoding="utf-8")))), rule.__name__


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (compares_kinds, 'if plan.question == "histogram": pass'),
        (compares_kinds, 'x = 1 if "mean" != kind else 2'),
        (compares_kinds, 'y = kind in ("sum", "other")'),
        (compares_kinds, 'y = document["kind"] not in {"summation"}'),
        (compares_kinds, 'match question:\n    case "query": pass'),
        (compares_kinds, 'match question:\n    case "a" | "mean": pass'),
        (compares_kinds, 'if protocol.kind == "rappor": pass'),
        (compares_kinds, 'if kind.startswith("sum"): pass'),
        (asks_for_classes, "from shuffledp.protocols.histogram import Histogram\nisinstance(p, Histogram)"),
        (asks_for_classes, "from shuffledp import Summation as S\nisinstance(p, (int, S))"),
        (asks_for_classes, "from shuffledp.protocols import summation\nissubclass(p, summation.Summation)"),
        (asks_for_classes, "from shuffledp.protocols.counting import Counting\nmatch p:\n    case Counting(): pass"),
        (asks_for_classes, 'hasattr(plan.protocol, "hashes")'),
        (asks_for_randomizers, "from shuffledp.randomizers.mixture import Mixture\nisinstance(r, (int, Mixture))"),
        (asks_for_randomizers, "from shuffledp import Laplace as L, Gaussian\nisinstance(r, L | Gaussian)"),
        (asks_for_randomizers, "from shuffledp.randomizers.structures import AffineSpace\nissubclass(s, AffineSpace)"),
        (asks_for_randomizers, "from shuffledp.randomizers import design\nisinstance(r, design.DesignResponse)"),
        (asks_for_randomizers, "from shuffledp.randomizers.mixture import Mixture\nmatch r:\n    case Mixture(): pass"),
        (asks_for_randomizers, "from shuffledp import Channel\ntype(r) is Channel"),
        (asks_for_randomizers, "from shuffledp.randomizers.dummies import Dummies\nr.kind == Dummies.kind"),
        (asks_for_randomizers, 'randomizer.kind == "response"'),
        (cleans, "from shuffledp.domains.columns import positions"),
        (cleans, "from shuffledp.domains import columns"),
        (cleans, "from shuffledp.domains.domain import settle_missing"),
        (cleans, "plan.protocol.domain._find(raw, None)"),
        (computes, "import pyarrow.compute as pc"),
        (computes, "from pyarrow import compute"),
        (computes, "import pyarrow as pa\npa.compute.cast(x)"),
        (encodes, "protocol.encode(values, words)"),
        (encodes, "plan.protocol.encode(values)"),
        (encodes, "p.encode(values, words, first_row=0)"),
        (asks_a_domain, "plan.protocol.domain.clean([value])"),
        (parses, "json.loads(text)"),
        (parses, "json.load(file)"),
        (parses, "tomllib.loads(text)"),
        (parses, "answer.json()"),
        (parses, "from json import loads"),
        (imports_by_name, 'import_module("shuffledp.figures.plot").plot(self)'),
        (imports_by_name, 'importlib.import_module(f"shuffledp.{name}")'),
        (imports_by_name, '__import__("shuffledp.figures")'),
        (prints, "click.echo(words)"),
        (prints, "print(words)"),
        (prints, "sys.stderr.write(words)"),
    ],
)
def test_a_breach_is_noticed(rule: Rule, code: str) -> None:
    assert list(rule(ast.parse(code)))


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (compares_kinds, 'if policy.missing == "skip": total = sum(x)'),
        (asks_for_classes, "from shuffledp.protocols.histogram import Histogram\nisinstance(p, int) and Histogram(r)"),
        (asks_for_randomizers, "from shuffledp.core.randomizer import Tunable\nisinstance(r, Tunable)"),
        (asks_for_randomizers, "from shuffledp.randomizers.structure import Geometry\nisinstance(s, Geometry)"),
        (cleans, "from shuffledp.domains.domain import STRICT, Policy\nfrom shuffledp.domains.columns import is_arrow"),
        (computes, "import pyarrow as pa\npa.array([1])"),
        (encodes, 'name.encode("utf-8")'),
        (parses, "import json\njson.dumps({})"),
        (prints, "print_lines(words)\nfile.write(words)"),
    ],
)
def test_what_is_allowed_is_let_be(rule: Rule, code: str) -> None:
    assert not list(rule(ast.parse(code)))


def named_elsewhere(tree: ast.Module, package: str) -> Iterator[str]:
    """Modules outside a package that its strings name: an import in disguise, which may well go up."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value
            if re.fullmatch(r"shuffledp(\.\w+)+", name) and not within(name, package):
                place = SOURCES.parent.joinpath(*name.split("."))
                if place.is_dir() or place.with_suffix(".py").is_file():
                    yield name


def test_no_string_names_a_module_of_another_package() -> None:
    """So that nothing is imported upwards by a string, however it is loaded."""
    for path in SOURCES.rglob("*.py"):
        package = ".".join(["shuffledp", *path.relative_to(SOURCES).parts[:-1][:1]])
        assert not list(named_elsewhere(ast.parse(path.read_text(encoding="utf-8")), package)), path


def test_a_module_in_a_string_is_noticed() -> None:
    tree = ast.parse('load("shuffledp.figures.plot", "shuffledp.core", "shuffledp.shuffler", "see shuffledp.figures")')
    assert list(named_elsewhere(tree, "shuffledp.core")) == ["shuffledp.figures.plot"]


SAME = {
    "account": "one quantity of a claim from the others: the accountant, its command, its tab",
    "address": "where something is, what of it may be shown, and whether the way there is private",
    "analyzer": "the party that opens batches, and its command",
    "audit": "what an attacker can show: audits, their command, their picture and page",
    "binary": "two-message randomizers over all datasets: claimed, and proved again",
    "blanket": "the privacy blanket: what a bound sees, and its tab",
    "client": "the user's side, and its command",
    "compare": "all protocols side by side: comparing, its command, its tab",
    "compose": "what several collections guarantee together, in Python and as a command",
    "composition": "several releases about the same users: found, and proved again",
    "crowd": "users whose messages are shuffled: made for audits, and drawn",
    "curve": "the privacy curve, delta against epsilon: found, proved again, its command",
    "cushion": "the bound for mixed crowds of few inputs: found, and proved again",
    "database": "how a store is kept in a database of one kind",
    "design_response": "design response: the randomizer, and planning it",
    "digit_sums": "sums and means from digits among dummies: the protocol, and planning it",
    "distribution": "how many users are below each number: the protocol, planning it, its picture",
    "dummies": "counts with dummies: the randomizer, the protocol, planning it",
    "export": "a table of messages in a secret order, and its command",
    "frequencies": "how often very many values occur: the protocol, and planning it",
    "group": "several rows of one person: claimed, and proved again",
    "grouped": "means, sums and queries by group: the protocol, and planning it",
    "heavy_hitters": "texts that nobody listed: the protocol, and planning it",
    "histogram": "counts of listed values: the protocol, and planning it",
    "loss": "laws of a privacy loss: as whole numbers, and as a checker makes one",
    "noised": "counts with noise from the shuffler: the protocol, planning it",
    "one_bit_mean": "one-bit means: the protocol, and comparing it",
    "over_time": "rounds: what all of them guarantee, their command, their picture",
    "plan": "the plan, its command, its tab",
    "questions": "the questions and options of registered families: as options, as fields",
    "positive_part": "the expected positive part of a sum, bounded: by the accountant, and by the checker",
    "quantiles": "what is read off a distribution: from its counts, and as JSON data",
    "records": "sealed records in a store of one kind",
    "registry": "everything of a package by its name",
    "rounds": "one round of many: accounted for, and planned",
    "run": "a plan carried out on data, and its command",
    "schema": "the tables of a store of one kind",
    "shuffler": "the party that shuffles, and its command",
    "store": "where a shuffler keeps reports: the interface, and each kind",
    "summation": "sums and means: the protocol, and planning it",
    "survey": "several questions: the protocols, and planning them",
    "survey_all": "every user answers all: the protocol, and planning it",
    "survey_one": "every user answers one: the protocol, and planning it",
    "survey_table": "a table of all answers: the protocol, and planning it",
    "task": "what all parties agree on, and its command",
    "texts": "texts that nobody lists beforehand: the domain, and planning for it",
    "verify": "proving a document's promise again, and its command",
}
"""Names of modules that several packages have, and the one meaning that each has in all of them."""


def test_modules_of_one_name_are_about_the_same_thing() -> None:
    names = [path.stem for path in SOURCES.rglob("*.py") if not path.stem.startswith("__")]
    several = {name for name in names if names.count(name) > 1}
    assert several - SAME.keys() == set(), "name a module for its role, or say here what the name means everywhere"
    assert SAME.keys() - several == set()
