"""`shuffledp keygen` and `shuffledp task`: what parties agree on before anything is collected."""

import json
from pathlib import Path

import click

from shuffledp.cli.files import read_plan, write_text
from shuffledp.cli.numbers import Wholes
from shuffledp.errors import InvalidInput
from shuffledp.esa.keys import ROLES, KeyRing, Role
from shuffledp.esa.task import Expiry, Task

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("keygen")
@click.argument("role", type=click.Choice(ROLES))
@click.option(
    "-o",
    "--out",
    type=_FILE,
    required=True,
    help="Key file; only its owner can read it. The public list is written next to it.",
)
@click.option("--introduce", is_flag=True, help="Add a new key to an existing file: published, not used yet.")
@click.option("--rotate", is_flag=True, help="Make the new key of an existing file active; the old one still opens.")
@click.option("--destroy", type=Wholes(), help="Erase this expired key of an existing file for ever.")
def keygen(role: Role, out: Path, introduce: bool, rotate: bool, destroy: tuple[int, ...] | None) -> None:
    """Make the keys of a ROLE, or rotate them. Prints the public list, which is the same for all clients."""
    if sum((introduce, rotate, destroy is not None)) > 1:
        raise InvalidInput("keys are introduced, rotated or destroyed one at a time. Give one of these options.")
    if introduce or rotate or destroy is not None:
        ring = KeyRing.load(out)
        if ring.role != role:
            raise InvalidInput(f"{out} has keys of the {ring.role}. Name that role, or another file.")
        ring = ring.introduced() if introduce else ring.rotated() if rotate else ring.destroyed((destroy or (-1,))[0])
    elif out.exists():
        raise InvalidInput(f"{out} exists. Use --rotate for a new key, or another file.")
    else:
        ring = KeyRing.fresh(role)
    ring.save(out)
    text = json.dumps(ring.public().document(), indent=2)
    write_text(out.with_name(out.name.removesuffix(".key") + ".pub.json"), text + "\n")
    click.echo(text)


@click.group("task")
def task_group() -> None:
    """Tasks: a plan and the terms of one collection."""


@task_group.command("new")
@click.argument("plan", type=_FILE)
@click.option("--window", type=Wholes(), required=True, help="Seconds a batch stays open before it may be released.")
@click.option(
    "--max-age", type=Wholes(), required=True, help="Seconds after which a batch that is still too small ends."
)
@click.option("--hops", type=Wholes(), help="Shufflers on the way [default: 1].")
@click.option(
    "--on-expiry",
    type=click.Choice(["roll-over", "destroy"]),
    default="roll-over",
    show_default=True,
    help="What happens to the reports of a batch that stayed too small.",
)
@click.option("--shuffler", default="shuffler", show_default=True, help="Who runs the shuffler.")
@click.option("--analyzer", default="analyzer", show_default=True, help="Who runs the analyzer.")
@click.option(
    "--allow-same-operator", is_flag=True, help="Accept one operator for both: against them only epsilon0 holds."
)
@click.option("-o", "--out", type=_FILE, required=True, help="Write the task to this file.")
def new(
    plan: Path, window: tuple[int, ...], max_age: tuple[int, ...], hops: tuple[int, ...] | None, on_expiry: Expiry, shuffler: str,
    analyzer: str, allow_same_operator: bool, out: Path,
) -> None:  # fmt: skip
    """A task from PLAN. Prints its id, which every report of it carries in its encryption, and who must be trusted."""
    if any(given is not None and len(given) > 1 for given in (window, max_age, hops)):
        raise InvalidInput("a task has one window, one max-age and one number of hops. Give each once.")
    task = Task(
        plan=read_plan(plan), window=window[0], max_age=max_age[0], hops=hops[0] if hops else 1, on_expiry=on_expiry,
        shuffler=shuffler, analyzer=analyzer, allow_same_operator=allow_same_operator,
    )  # fmt: skip
    write_text(out, json.dumps(task.document(), indent=2, allow_nan=False) + "\n")
    click.echo(f"task {task.id}")
    click.echo(task.trust)


@task_group.command("show")
@click.argument("task", type=_FILE)
def show(task: Path) -> None:
    """Prove TASK again, and say what it is."""
    found = read_task(task)
    click.echo(f"task {found.id}")
    click.echo(f"guarantee: {found.plan.guarantee}")
    click.echo(found.trust)


def read_task(path: Path) -> Task:
    """A task, its plan proved again."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise InvalidInput(f"{path} is not a task. Make one with shuffledp task new.") from None
    return Task.from_document(document)
