"""An SQL expression evaluated on each row separately.

A query must see one person at a time: an aggregate, a window or a subquery would let one person's value reach the messages
of others, and void the guarantee. So the expression is parsed, and only what is known to be row by row and repeatable is
allowed; DuckDB evaluates it with no access to files or network. Columns keep the type that their file declares; those of a CSV
file are texts, because a guessed type would depend on everybody's cells.

A row is missing if a column that the query uses is, even where SQL would overlook that (`least`, `concat`, CASE, OR), unless
the query says itself what to do then: IS NULL, COALESCE, IS DISTINCT FROM. It is also missing if the expression fails on it, so
that no row can stop a run whose policy says what missing values count as.
"""

import contextlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from shuffledp.core.installed import not_installed
from shuffledp.domains.domain import NO_ANSWER
from shuffledp.errors import InvalidInput
from shuffledp.sources.table import Table, arrow

if TYPE_CHECKING:
    import pyarrow as pa

_CONSTRUCTS: Final = frozenset(
    {"BETWEEN", "CASE", "CAST", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION", "OPERATOR", "TYPE"}
)
# fmt: off
_FUNCTIONS: Final = frozenset({
    "+", "-", "*", "/", "//", "%", "**", "^", "||", "~~", "!~~", "~~*", "!~~*", "&", "|", "<<", ">>", "~",
    # numbers
    "abs", "acos", "asin", "atan", "atan2", "cbrt", "ceil", "ceiling", "cos", "degrees", "exp", "floor", "greatest", "isfinite",
    "isinf", "isnan", "least", "ln", "log", "log10", "log2", "mod", "pi", "pow", "power", "radians", "round", "sign", "sin",
    "sqrt", "tan", "trunc",
    # texts
    "ascii", "bit_length", "chr", "concat", "concat_ws", "contains", "ends_with", "hamming", "instr", "lcase", "left", "len",
    "length", "levenshtein", "like_escape", "lower", "lpad", "ltrim", "not_like_escape", "position", "prefix", "regexp_extract",
    "regexp_full_match", "regexp_matches", "regexp_replace", "repeat", "replace", "reverse", "right", "rpad", "rtrim",
    "split_part", "starts_with", "strip_accents", "strlen", "strpos", "substr", "substring", "suffix", "trim", "ucase", "unicode",
    "upper",
    # dates
    "date_diff", "date_part", "date_trunc", "datediff", "datepart", "datetrunc", "day", "dayname", "dayofmonth", "dayofweek",
    "dayofyear", "epoch", "hour", "isodow", "last_day", "make_date", "make_timestamp", "minute", "month", "monthname", "quarter",
    "second", "strftime", "strptime", "try_strptime", "week", "weekday", "year",
})
# fmt: on
_HANDLES_MISSING: Final = frozenset(
    {
        "OPERATOR_COALESCE",
        "OPERATOR_IS_NULL",
        "OPERATOR_IS_NOT_NULL",
        "COMPARE_DISTINCT_FROM",
        "COMPARE_NOT_DISTINCT_FROM",
    }
)
_PLAIN: Final[dict[str, Any]] = {
    "where_clause": None,
    "having": None,
    "qualify": None,
    "sample": None,
    "group_expressions": [],
    "modifiers": [],
    "cte_map": {"map": []},
}  # fmt: skip
_LONGEST: Final = 2000


class Expression:
    """An SQL expression over the columns of one row."""

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise InvalidInput(f"the query has more than {_LONGEST} characters. Write a shorter one.")
        self.text = text
        self._database = _database()
        self._columns, missing = self._checked()
        answer = f"TRY((\n{text}\n))"
        self._sql = f"CASE WHEN {' OR '.join(missing)} THEN NULL ELSE {answer} END" if missing else answer

    def columns(self, table: Table) -> list[str]:
        """The columns it reads, as the file spells them."""
        try:
            return [table.column(name, any_case=True) for name in self._columns] or table.columns()[:1]
        except InvalidInput as unknown:
            complaint = str(unknown)
        raise InvalidInput(f"{complaint} Texts in a query need single quotation marks: 'yes'.")

    def check(self, batch: "pa.RecordBatch", *, texts: bool, numbers: bool) -> None:
        """Try it on no rows, where a complaint can only be about types and functions.

        Where numbers are wanted, texts are read as numbers, and one that is none is missing.
        """
        import duckdb

        try:
            answers = self._values(batch.slice(0, 0))
        except duckdb.Error as error:
            complaint = str(error).strip().splitlines()[0].split("Candidate")[0].rstrip(". ")
            complaint = complaint.removeprefix("Binder Error: ")
        else:
            if numbers and arrow().types.is_string(answers.type):
                self._sql = f"TRY_CAST({self._sql} AS DOUBLE)"
            return
        hint = " Columns of a CSV file are texts: write e.g. age::DOUBLE >= 65." if texts else ""
        raise InvalidInput(f"the query does not work: {complaint}.{hint}")

    def evaluate(self, batch: "pa.RecordBatch") -> Any:
        """One value per row, which is missing where the expression fails: whether it does says something of the row."""
        import duckdb

        answers = None
        with contextlib.suppress(duckdb.Error):  # for want of memory; it may quote a cell
            answers = self._values(batch)
        if answers is None:
            raise InvalidInput(NO_ANSWER)
        if len(answers) != batch.num_rows:
            raise InvalidInput("the query does not give one value per row. Use an expression of one row's columns.")
        return answers

    def _values(self, batch: "pa.RecordBatch") -> Any:
        self._database.register("people", arrow().Table.from_batches([batch]))
        answers = self._database.sql(f"SELECT {self._sql} AS answer FROM people").to_arrow_table()  # noqa: S608
        return answers.column("answer").combine_chunks()

    def _checked(self) -> tuple[list[str], list[str]]:
        """The columns that the query names, and conditions under which a row is missing."""
        statement = f"SELECT (\n{self.text}\n)"
        try:
            parsed = json.loads(self._database.execute("SELECT json_serialize_sql(?)", [statement]).fetchall()[0][0])
        except RecursionError:
            raise InvalidInput("the query is nested too deeply. Write a simpler one.") from None
        if parsed["error"]:
            raise InvalidInput(
                f'the query is not an SQL expression: {parsed["error_message"]}. Write e.g. "age >= 65"; a '
                "column whose name is a word of SQL goes in double quotation marks."
            )
        node = parsed["statements"][0]["node"]
        alone = len(parsed["statements"]) == 1 and node["type"] == "SELECT_NODE" and len(node["select_list"]) == 1
        if not (alone and _PLAIN.items() <= node.items() and node["from_table"]["type"] == "EMPTY"):
            raise InvalidInput("the query is more than an expression. Write what would follow SELECT for one row.")
        columns: list[str] = []
        for part in _expressions(node["select_list"]):
            function = part.get("function_name", "").lower()
            if part["class"] not in _CONSTRUCTS or (part["class"] == "FUNCTION" and function not in _FUNCTIONS):
                named = function or part["class"].lower()
                column = "" if function else f' A column of that name goes in double quotation marks: "{named}".'
                raise InvalidInput(
                    f"the query uses {named}, which is not known to depend on one person's row only. Use plain arithmetic, "
                    f"comparisons, CASE, casts, and functions of texts and dates.{column}"
                )
            if part["class"] == "FUNCTION" and (part.get("schema") or part.get("catalog")):
                raise InvalidInput(
                    "the query calls a method of a column, which SQL does not have. Write a function, e.g. length(name)."
                )
            if part["class"] == "COLUMN_REF":
                if len(part["column_names"]) != 1:
                    raise InvalidInput("the query names a table or a field. Use plain column names.")
                columns.append(part["column_names"][0])
        return list(dict.fromkeys(columns)), self._missing(parsed)

    def _missing(self, parsed: dict[str, Any]) -> list[str]:
        """What must not be NULL: columns, and casts that may fail, unless the query handles that itself."""
        select = parsed["statements"][0]["node"]
        parts = list(_expressions(select["select_list"]))
        handled = {name for part in parts if part["type"] in _HANDLES_MISSING for name in _columns(part)}
        conditions = []
        for part in parts:
            may_fail = part.get("try_cast") or part.get("function_name", "").lower() == "try_strptime"
            if (may_fail or part["class"] == "COLUMN_REF") and not handled & _columns(part):
                alone = parsed | {"statements": [{**parsed["statements"][0], "node": select | {"select_list": [part]}}]}
                text = self._database.execute("SELECT json_deserialize_sql(?)", [json.dumps(alone)]).fetchall()[0][0]
                conditions.append(f"({text.removeprefix('SELECT ').rstrip(';')}) IS NULL")
        return list(dict.fromkeys(conditions))


def _columns(node: Any) -> set[str]:
    """Columns that are named in a part of a query, whatever their case."""
    return {part["column_names"][0].lower() for part in _expressions(node) if part["class"] == "COLUMN_REF"}


def _expressions(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "class" in node:
            yield node
        for child in node.values():
            yield from _expressions(child)
    elif isinstance(node, list):
        for child in node:
            yield from _expressions(child)


def _database() -> Any:
    try:
        import duckdb
    except ImportError:
        raise not_installed("queries need duckdb", "run") from None
    settings: dict[str, Any] = {
        "enable_external_access": "false",
        "python_enable_replacements": "false",
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
        "threads": "1",  # one thread keeps the order of rows
    }
    database = duckdb.connect(":memory:", config=settings)
    database.execute("SET lock_configuration = true")
    return database
