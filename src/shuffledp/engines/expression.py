"""An SQL expression asked of each row by itself.

A query must see one person at a time: an aggregate, a window or a subquery would let one person's value reach the messages
of others, and void the guarantee. So the expression is parsed, and only what is known to be row by row is let through; DuckDB
evaluates it with no access to files or network.
"""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from shuffledp.engines.table import arrow
from shuffledp.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

_ROW_BY_ROW: Final = frozenset(
    {"BETWEEN", "CASE", "CAST", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION", "OPERATOR", "TYPE"}
)
_PLAIN: Final[dict[str, Any]] = {
    "where_clause": None, "having": None, "qualify": None, "sample": None, "group_expressions": [], "modifiers": [],
    "cte_map": {"map": []},
}  # fmt: skip


class Expression:
    """An SQL expression over the columns of one row."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._database = _database()
        self._columns = self._checked()

    def columns(self, present: Sequence[str]) -> list[str]:
        """The columns it reads, as the file spells them."""
        spelled = {name.lower(): name for name in present}
        for name in self._columns:
            if name.lower() not in spelled:
                raise InvalidInput(
                    f"the query's column {name!r} is not in the file. Its columns are {', '.join(present)}."
                )
        return [spelled[name.lower()] for name in self._columns] or list(present[:1])

    def evaluate(self, batch: "pa.RecordBatch") -> Any:
        """One value a row. A failure may quote a cell, so its message is not shown; on no rows it can only be about types."""
        import duckdb

        pa = arrow()
        self._database.register("people", pa.Table.from_batches([batch]))
        try:
            found = self._database.sql(f"SELECT (\n{self.text}\n) AS answer FROM people").to_arrow_table()  # noqa: S608
        except duckdb.Error as error:
            if batch.num_rows == 0:
                raise InvalidInput(f"the query does not work: {_first_line(error)}") from None
            raise InvalidInput("the query fails on a row. Test it on made-up rows, and use TRY_CAST or CASE.") from None
        if found.num_rows != batch.num_rows:
            raise InvalidInput("the query does not give one value a row. Use an expression of one row's columns.")
        return found.column("answer").combine_chunks()

    def _checked(self) -> list[str]:
        statement = f"SELECT (\n{self.text}\n)"
        found = json.loads(self._database.execute("SELECT json_serialize_sql(?)", [statement]).fetchall()[0][0])
        if found["error"]:
            raise InvalidInput(f'the query is not an SQL expression: {found["error_message"]}. Write e.g. "age >= 65".')
        node = found["statements"][0]["node"]
        alone = len(found["statements"]) == 1 and node["type"] == "SELECT_NODE" and len(node["select_list"]) == 1
        if not (alone and _PLAIN.items() <= node.items() and node["from_table"]["type"] == "EMPTY"):
            raise InvalidInput("the query is more than an expression. Write what would follow SELECT for one row.")
        columns: list[str] = []
        for part in _expressions(node["select_list"]):
            if part["class"] not in _ROW_BY_ROW or (part["class"] == "FUNCTION" and not self._is_scalar(part)):
                what = part.get("function_name") or part["class"].lower()
                raise InvalidInput(
                    f"the query uses {what}, which may look beyond one person's row or change from run to run. "
                    "Use plain scalar functions of one row's columns."
                )
            if part["class"] == "COLUMN_REF":
                if len(part["column_names"]) != 1:
                    raise InvalidInput("the query names a table or a field. Use plain column names.")
                columns.append(part["column_names"][0])
        return list(dict.fromkeys(columns))

    def _is_scalar(self, part: dict[str, Any]) -> bool:
        kinds = self._database.execute(
            "SELECT DISTINCT function_type, stability FROM duckdb_functions() WHERE lower(function_name) = lower(?)",
            [part["function_name"]],
        ).fetchall()
        return bool(kinds == [("scalar", "CONSISTENT")])


def _expressions(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "class" in node:
            yield node
        for child in node.values():
            yield from _expressions(child)
    elif isinstance(node, list):
        for child in node:
            yield from _expressions(child)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def _database() -> Any:
    try:
        import duckdb
    except ImportError:
        raise InvalidInput("queries need duckdb, which is not installed. Install shuffledp[run].") from None
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
