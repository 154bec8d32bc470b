"""`shuffledp export`: a table of randomized messages, to be analyzed elsewhere."""

from dataclasses import asdict
from pathlib import Path
from typing import Literal

import click

from shuffledp.cli.command import Command
from shuffledp.cli.documents import check_place, read_plan
from shuffledp.cli.output import json_option, print_error, show
from shuffledp.cli.progress import progress
from shuffledp.cli.row_options import chosen_rows, row_options
from shuffledp.cli.state_folder import state_folder
from shuffledp.core.digits import counted
from shuffledp.domains.domain import Policy
from shuffledp.engines.export import message_table, table_place
from shuffledp.results.history import NOT_REMEMBERED, History


@click.command("export", cls=Command)
@row_options
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The table to write (.parquet)."
)
@json_option
def export_command(
    plan: Path, data: Path | None, files: str | None, column: str | None, query: str | None, missing: Literal["refuse", "skip"],
    missing_as: str | None, outside: Literal["refuse", "clamp"], other: str | None,
    match: Literal["exactly", "loosely"], explain_errors: bool,
    user: str | None, max_rows_per_user: int | None, row_id: str | None, separator: str, decimal: str, multiline: bool,
    engine: str, master: str | None, remote: str | None, table: str | None, out: Path, as_json: bool,
) -> None:  # fmt: skip
    """Write the randomized messages of DATA (or --files) in a secret order, with PLAN and its guarantee in the file.

    `shuffledp analyzer read` estimates from it. It is written whole or not at all, and never with fewer reports than planned.
    """
    check_place(table_place(out))
    chosen = read_plan(plan, data)
    rows = chosen_rows(
        data, files, table, engine=engine, master=master, remote=remote, column=column, query=query, user=user,
        max_rows_per_user=max_rows_per_user, row_id=row_id, multiline=multiline, separator=separator, decimal=decimal,
    )  # fmt: skip
    with rows as (paths, source, how), progress(1000, "Randomizing") as bar:
        messages = message_table(
            chosen, source, engine=how,
            policy=Policy(
                missing=missing, missing_as=missing_as, outside=outside, other=other, match=match,
                explain_errors=explain_errors,
            ),
            progress=lambda share: bar.update(int(1000 * share) - bar.pos),
        )  # fmt: skip
    tally, promise = messages.tally, messages.promise
    history = History(state_folder() / "releases.jsonl")
    for note in history.note(chosen, promise, paths) if paths else [NOT_REMEMBERED]:  # before anything is written
        print_error(f"warning: {note}")
    messages.write(out)
    changed: dict[str, dict[str, int]] = {"rejected": dict(tally.rejected), "adjusted": dict(tally.adjusted)}
    lines = [f"{counted(messages.users, 'report')} in {out}", f"guarantee: {promise}"]
    lines += [
        f"{what}: {count:,} {reason}, which the guarantee does not cover and the table does not contain"
        for what, tally in changed.items()
        for reason, count in tally.items()
    ]
    document = {"file": str(out), "reports": messages.users, **changed}
    document |= {"plan": chosen.sha256, "guarantee": asdict(promise)}
    show(document, "\n".join(lines), as_json=as_json)
