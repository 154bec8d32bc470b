"""What can be wrong: for each kind of bug, the places of a module where it can be planted.

Some are those of every mutation tool: a comparison at its boundary, a sign, a constant off by one, a statement left out. Others
are what a privacy library gets wrong: a number rounded to the other side, random words of another address, an argument (an honest
fraction, a delta) forgotten, one factor of a product. What messages say, how things are shown, and annotations are left alone.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from mutants.bug import Bug

Change = tuple[int, int, str]
"""From byte, to byte, what is written there."""
_COMPARED: Final = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}  # fmt: skip
_COMPUTED: Final = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"), ast.Mod: ("%", "//"), ast.Pow: ("**", "*"),
}  # fmt: skip
_OTHER_NAMES: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
_OTHER_ENDS: Final = {
    "upper": "lower", "lower": "upper", "ceil": "floor", "floor": "ceil", "minimum": "maximum", "maximum": "minimum",
    "min": "max", "max": "min", "argmin": "argmax", "argmax": "argmin", "all": "any", "any": "all",
}  # fmt: skip
_OTHER_SIDES: Final = {"upper": "lower", "lower": "upper", "left": "right", "right": "left"}
_OTHER_ROUNDING: Final = {
    f"{what}_{one}": f"{what}_{other}" for what in ("exp", "log", "round") for one, other in (("up", "down"), ("down", "up"))
}  # fmt: skip
_SHOWN: Final = frozenset(
    {
        "__repr__",
        "__str__",
        "_repr_html_",
        "label",
        "sentence",
        "sentences",
        "examples",
        "notes",
        "description",
        "summary",
        "words",
    }
)
"""Functions that only say something."""
_SYMMETRIC: Final = frozenset(
    {"min", "max", "gcd", "minimum", "maximum", "isinstance", "zip", "print", "cast", "logaddexp"}
)
_TYPED: Final = frozenset({"Literal", "TypeVar", "cast", "Struct", "NewType"})


@dataclass
class _Text:
    """A module's text, by lines and bytes."""

    source: bytes
    _starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._starts = [0, *(match.end() for match in re.finditer(b"\n", self.source))]

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self._starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)

    def of(self, node: ast.expr | ast.stmt) -> str:
        return self.source[self.start(node) : self.end(node)].decode()

    def between(self, left: int, right: int, token: str, other: str) -> Iterator[Change]:
        """The token that stands between two bytes, outside comments."""
        gap = re.sub(rb"#[^\n]*", lambda match: b" " * len(match[0]), self.source[left:right])
        pattern = token.replace(" ", r"\s+") if token[0].isalpha() else re.escape(token)
        found = re.search(rf"\b{pattern}\b".encode() if token[0].isalpha() else pattern.encode(), gap)
        if found:
            yield left + found.start(), left + found.end(), other

    def line(self, place: int) -> int:
        return self.source.count(b"\n", 0, place) + 1

    def line_text(self, line: int) -> str:
        return self.source[self._starts[line - 1] :].split(b"\n", 1)[0].decode().strip()


def boundary(node: ast.AST, text: _Text) -> Iterator[Change]:
    """A comparison at its boundary, or the other way."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        for kind, left, right in zip(node.ops, sides, sides[1:], strict=False):
            yield from text.between(text.end(left), text.start(right), *_COMPARED[type(kind)])


def sign(node: ast.AST, text: _Text) -> Iterator[Change]:
    """The opposite operation."""
    if isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED:
        yield from text.between(text.end(node.left), text.start(node.right), *_COMPUTED[type(node.op)])
    if isinstance(node, ast.AugAssign) and type(node.op) in _COMPUTED:
        token, other = _COMPUTED[type(node.op)]
        yield from text.between(text.end(node.target), text.start(node.value), f"{token}=", f"{other}=")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield text.start(node), text.start(node) + 1, "+"


def forgotten(node: ast.AST, text: _Text) -> Iterator[Change]:
    """One of two operands."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow):
        yield text.start(node), text.end(node), text.of(node.left)
        if isinstance(node.op, ast.Add | ast.Mult):
            yield text.start(node), text.end(node), text.of(node.right)


def constant(node: ast.AST, text: _Text) -> Iterator[Change]:
    """A number that is off by one, or twice as large; true and false."""
    if not isinstance(node, ast.Constant):
        return
    start, end = text.start(node), text.end(node)
    if isinstance(node.value, bool):
        yield start, end, str(not node.value)
    elif isinstance(node.value, int):
        yield start, end, f"({text.of(node)} + 1)"
        if node.value > 0:
            yield start, end, f"({text.of(node)} - 1)"
    elif isinstance(node.value, float):
        yield start, end, f"({text.of(node)} * 2)" if node.value else "0.5"


def rounding(node: ast.AST, text: _Text) -> Iterator[Change]:
    """To the other side; the other end of an enclosure; the least for the greatest."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in _OTHER_ENDS:
        yield text.end(node) - len(node.attr), text.end(node), _OTHER_ENDS[node.attr]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        if node.id in _OTHER_NAMES:
            yield text.start(node), text.end(node), _OTHER_NAMES[node.id]
        if node.id in _OTHER_ROUNDING:
            other = f'__import__("shuffledp.arithmetic.balls", fromlist=["x"]).{_OTHER_ROUNDING[node.id]}'
            yield text.start(node), text.end(node), other
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        yield text.start(node), text.end(node), f"(-(-({text.of(node.left)}) // ({text.of(node.right)})))"
    if isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant) and node.value.value in _OTHER_SIDES:
        yield text.start(node.value), text.end(node.value), repr(_OTHER_SIDES[node.value.value])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "nextafter":
        yield text.start(node.args[1]), text.end(node.args[1]), f"-({text.of(node.args[1])})"
        yield text.start(node), text.end(node), text.of(node.args[0])


def left_out(node: ast.AST, text: _Text) -> Iterator[Change]:
    """A statement: a call (to sync, to check), a refusal, a lock, an addition."""
    call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.YieldFrom)
    if isinstance(node, ast.stmt) and (call or isinstance(node, ast.Raise | ast.AugAssign | ast.Delete)):
        yield text.start(node), text.end(node), "pass"
    if isinstance(node, ast.Break | ast.Continue):
        yield text.start(node), text.end(node), "continue" if isinstance(node, ast.Break) else "break"
    if isinstance(node, ast.With) and all(item.optional_vars is None for item in node.items) and len(node.items) == 1:
        yield text.start(node), text.end(node.items[-1].context_expr), "if True"


def swapped(node: ast.AST, text: _Text) -> Iterator[Change]:
    """The first two arguments of a call."""
    if isinstance(node, ast.Call) and len(node.args) >= 2 and not isinstance(node.args[1], ast.Starred):
        name = _called(node)
        first, second = node.args[:2]
        if name not in _SYMMETRIC and not isinstance(first, ast.Starred | ast.GeneratorExp):
            gap = text.source[text.end(first) : text.start(second)].decode()
            yield text.start(first), text.end(second), text.of(second) + gap + text.of(first)


def logic(node: ast.AST, text: _Text) -> Iterator[Change]:
    """`and` for `or`, and a `not` too few."""
    if isinstance(node, ast.BoolOp):
        token, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from text.between(text.end(left), text.start(right), token, other)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield text.start(node), text.end(node), f"({text.of(node.operand)})"


def condition(node: ast.AST, text: _Text) -> Iterator[Change]:
    """A condition that always holds, or never."""
    if isinstance(node, ast.If | ast.IfExp):
        for always in ("True", "False"):
            yield text.start(node.test), text.end(node.test), always
    if isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield text.start(test), text.end(test), "True"


def returned(node: ast.AST, text: _Text) -> Iterator[Change]:
    """The opposite answer, or nothing done at all."""
    if not isinstance(node, ast.FunctionDef) or any(isinstance(inside, ast.Yield) for inside in ast.walk(node)):
        return
    kind = "" if node.returns is None else ast.unparse(node.returns)
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    if kind == "None" and body and len(body) > 1:
        yield text.start(body[0]), text.end(body[-1]), "pass"
    if kind == "bool":
        for inside in ast.walk(node):
            if isinstance(inside, ast.Return) and inside.value is not None:
                yield text.start(inside.value), text.end(inside.value), f"not ({text.of(inside.value)})"


def word(node: ast.AST, text: _Text) -> Iterator[Change]:
    """Random words of an address that something else uses."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    if node.func.attr == "blocks" and len(node.args) == 2:
        rows, draw = node.args
        yield text.start(rows), text.end(rows), f"({text.of(rows)}) * np.uint64(0)"
        if not isinstance(draw, ast.Constant):
            yield text.start(draw), text.end(draw), "0"
    if node.func.attr == "stream" and len(node.args) == 3:
        first, _, lane = node.args
        yield text.start(lane), text.end(lane), "0"
        yield text.start(first), text.end(first), "0"


def keyword(node: ast.AST, text: _Text) -> Iterator[Change]:
    """An argument that is given by name, forgotten."""
    if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in ("dataclass", "field")):
        for one in node.keywords:
            if one.arg is not None:
                start, end = _argument(one, text)
                yield start, end, ""


def _argument(one: ast.keyword, text: _Text) -> tuple[int, int]:
    """An argument and the comma that belongs to it."""
    start, end = text.start(one), text.end(one.value)  # type: ignore[arg-type]  # it has positions like an expression
    after = re.match(rb"\s*,[ \n]*", text.source[end:])
    if after:
        return start, end + after.end()
    before = re.search(rb",\s*$", text.source[:start])
    return (before.start() if before else start), end


OPERATORS: Final[dict[str, Callable[[ast.AST, _Text], Iterator[Change]]]] = {
    "boundary": boundary, "sign": sign, "forgotten": forgotten, "constant": constant, "rounding": rounding, "left out": left_out,
    "swapped": swapped, "logic": logic, "condition": condition, "returned": returned, "word": word, "keyword": keyword,
}  # fmt: skip


def bugs(module: str, source: bytes) -> list[Bug]:
    """All that can be planted in a module, in its order."""
    text, seen, found, tree = _Text(source), Counter[object](), list[Bug](), ast.parse(source)
    defaults = _defaults(tree)
    for node, function in _judged(tree, ""):
        for operator, changes in OPERATORS.items():
            for start, end, after in changes(node, text):
                line = text.line(start)
                bug = Bug(
                    module=module, function=function, operator=operator, text=text.line_text(line), start=start, line=line,
                    before=source[start:end].decode(), after=after,
                    last_line=defaults.get(line, text.line(end)),
                )  # fmt: skip
                found.append(replace(bug, repeat=seen[bug.key]))
                seen[bug.key] += 1
    return sorted(found, key=lambda bug: (bug.start, bug.operator, bug.after))


def _defaults(tree: ast.AST) -> dict[int, int]:
    """The last line of a function, for each line of its signature: defaults are set at import and matter where it is called."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {line: one.end_lineno or line for one in functions for line in range(one.lineno, one.body[0].lineno)}


def is_bug(bug: Bug, source: bytes) -> bool:
    """Whether it is a program, and another one: an operand that loses its parentheses may be neither."""
    try:
        tree = ast.parse(bug.planted(source))
    except SyntaxError:
        return False
    return ast.dump(tree) != ast.dump(ast.parse(source))


def _judged(node: ast.AST, function: str) -> Iterator[tuple[ast.AST, str]]:
    """Every node but those that only say something, with the function it is in."""
    yield node, function
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases") or _only_says(node, name):
            continue
        for inside in value if isinstance(value, list) else [value]:
            if not isinstance(inside, ast.AST) or _shown(inside):
                continue
            deeper = inside.name if isinstance(inside, ast.FunctionDef | ast.ClassDef) else ""
            yield from _judged(inside, f"{function}.{deeper}".strip(".") if deeper else function)


def _only_says(node: ast.AST, name: str) -> bool:
    """The error that is raised."""
    return isinstance(node, ast.Raise) and name in ("exc", "cause")


def _called(call: ast.Call) -> str:
    """The last name of what is called; nothing if it has none."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _shown(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name in _SHOWN
    if isinstance(node, ast.Call):
        name = _called(node)
        return name in _TYPED or name.endswith(("Error", "Input", "Claim", "Warning"))
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("Literal", "Final", "ClassVar")
    ):
        return True
    return isinstance(node, ast.JoinedStr)
