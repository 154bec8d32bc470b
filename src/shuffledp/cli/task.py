"""`shuffledp keygen` and `shuffledp task`: what the parties agree on before anything is collected."""

import json
from pathlib import Path
from typing import Any

import click

from shuffledp.cli.command import Command, Group
from shuffledp.cli.documents import check_place, read_plan, write_text
from shuffledp.cli.keyword import Choice
from shuffledp.cli.numbers import RealRange, Whole, WholeRange
from shuffledp.cli.output import json_option, one_line_each, print_lines, show
from shuffledp.core.files import read_json
from shuffledp.errors import InvalidInput
from shuffledp.service.sealing.keys import ROLES, KeyList, KeyRing, Role
from shuffledp.service.task import EXPIRIES, Expiry, Task

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("keygen", cls=Command)
@click.argument("role", type=Choice(ROLES))
@click.option(
    "-o",
    "--out",
    type=_FILE,
    required=True,
    help="Key file; only its owner can read it. The public list is written next to it.",
)
@click.option("--introduce", is_flag=True, help="Add a new key to an existing file: published, not used yet.")
@click.option("--rotate", is_flag=True, help="Make the new key of an existing file active; the old one still opens.")
@click.option("--destroy", type=Whole(), help="Erase this expired key of an existing file for good.")
@json_option
def keygen(role: Role, out: Path, introduce: bool, rotate: bool, destroy: int | None, as_json: bool) -> None:
    """Make the keys of a ROLE, or rotate them.

    Prints the public list, which is the same for all clients, and the keys' fingerprints, for people to compare.
    """
    if sum((introduce, rotate, destroy is not None)) > 1:
        raise InvalidInput("keys are introduced, rotated or destroyed one at a time. Give one of these options.")
    check_place(out)
    if introduce or rotate or destroy is not None:
        ring = KeyRing.load(out)
        if ring.role != role:
            raise InvalidInput(f"{out} has keys of the {ring.role}. Name that role, or another file.")
        ring = ring.introduced() if introduce else ring.rotated() if destroy is None else ring.destroyed(destroy)
    elif out.exists():
        raise InvalidInput(f"{out} exists. Use --rotate for a new key, or another file.")
    else:
        ring = KeyRing.fresh(role)
    ring.save(out)
    published = out.with_name(out.name.removesuffix(".key") + ".pub.json")
    text = json.dumps(ring.public().document(), indent=2)
    write_text(published, text + "\n")
    show({"file": str(out), "published": str(published), **_marked(ring.public())}, text, as_json=as_json)
    written = one_line_each([f"wrote {out}, which stays with you, and {published}, which is for everybody"])
    print_lines(f"{fingerprints(ring.public())}\n{written}", err=True)


def _marked(keys: KeyList) -> dict[str, Any]:
    """A published list with the fingerprint of each key."""
    listed = zip(keys.document()["keys"], keys.keys, strict=True)
    return {"role": keys.role, "keys": [entry | {"fingerprint": keys.fingerprint(key)} for entry, key in listed]}


def fingerprints(keys: KeyList) -> str:
    """The fingerprints of a list, one per line."""
    return "\n".join(f"{keys.role} key {key.key_id} {key.state} {keys.fingerprint(key)}" for key in keys.keys)


@click.group("task", cls=Group)
def task_group() -> None:
    """Tasks: a plan and the terms of one collection."""


@task_group.command("new")
@click.argument("plan", type=_FILE)
@click.option("--window", type=Whole(), required=True, help="Seconds a batch stays open before it may be released.")
@click.option(
    "--max-age", type=Whole(), required=True, help="Seconds after which a batch that is still too small ends."
)
@click.option(
    "--shuffler",
    "shufflers",
    multiple=True,
    required=True,
    help="Who runs the shuffler; with several shufflers once for each, from the analyzer out.",
)
@click.option("--analyzer", required=True, help="Who runs the analyzer.")
@click.option(
    "--honest-fraction",
    type=RealRange(0, 1, min_open=True),
    required=True,
    help="Share of the reports assumed to come from users who follow the protocol; 1 if you trust all of them.",
)
@click.option(
    "--on-expiry",
    type=Choice(EXPIRIES),
    default="roll-over",
    show_default=True,
    help="What happens to the reports of a batch that stayed too small; top-up releases them among dummies of the shuffler.",
)
@click.option(
    "--release-margin",
    type=WholeRange(0),
    help="Reports above the plan's minimum that a batch needs, to make up for garbage [default: 1 % of it].",
)
@click.option(
    "--allow-same-operator",
    is_flag=True,
    help="Accept one operator for two parts; against that operator only epsilon0 protects, or nothing.",
)
@click.option("-o", "--out", type=_FILE, required=True, help="Write the task to this file.")
@json_option
def new(
    plan: Path,
    window: int,
    max_age: int,
    shufflers: tuple[str, ...],
    analyzer: str,
    honest_fraction: float,
    on_expiry: Expiry,
    release_margin: int | None,
    allow_same_operator: bool,
    out: Path,
    as_json: bool,
) -> None:
    """Make a task from PLAN. Prints its id, which is bound into the encryption of every report, and who must be trusted."""
    check_place(out)
    agreed = read_plan(plan)
    if agreed.guarantee.n == agreed.min_batch:
        print_lines(
            "shuffledp: warning: the plan relies on every report being honest, and anybody can send one. Plan with "
            "--honest-fraction, e.g. 0.9.",
            err=True,
        )
    task = Task(
        plan=agreed,
        window=window,
        max_age=max_age,
        shufflers=shufflers,
        analyzer=analyzer,
        honest_fraction=honest_fraction,
        on_expiry=on_expiry,
        release_margin=-(-agreed.min_batch // 100) if release_margin is None else release_margin,
        allow_same_operator=allow_same_operator,
    )
    write_text(out, json.dumps(task.document(), indent=2, allow_nan=False) + "\n")
    show(
        {"task": task.id, "trust": task.trust, "file": str(out)},
        one_line_each([f"task {task.id}", task.trust]),
        as_json=as_json,
    )


@task_group.command("show")
@click.argument("task", type=_FILE)
@click.option("--keys", type=_FILE, multiple=True, help="Also show the fingerprints of this published list of keys.")
@json_option
def show_task(task: Path, keys: tuple[Path, ...], as_json: bool) -> None:
    """Prove the guarantee of TASK again, and show its terms."""
    loaded, lists = read_task(task), [KeyList.load(path) for path in keys]
    most = loaded.plan.protocol.most_messages
    several = (
        [f"a report has 1 to {most} messages, whatever the value, and {loaded.report_bytes:,} bytes"]
        if most > 1
        else []
    )
    shown = [line for listed in lists for line in fingerprints(listed).splitlines()]
    lines = [f"task {loaded.id}", f"guarantee: {loaded.plan.guarantee}", *several, loaded.trust, *shown]
    result = {
        "task": loaded.id, "document": loaded.document(), "most_messages": most, "report_bytes": loaded.report_bytes,
        "trust": loaded.trust, "keys": [*map(_marked, lists)],
    }  # fmt: skip
    show(result, one_line_each(lines), as_json=as_json)


def read_task(path: Path) -> Task:
    """A task, its plan proved again."""
    return Task.from_document(read_json(path, "a task", "Make one with shuffledp task new."))
