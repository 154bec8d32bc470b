"""`shuffledp example`: a file to try things on."""

from pathlib import Path

import click

from shuffledp.cli.command import Command
from shuffledp.cli.documents import check_place, write_new
from shuffledp.cli.output import print_lines
from shuffledp.errors import InvalidInput
from shuffledp.sources.example_people import example_people


@click.command("example", cls=Command)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Replace another file of that name.")
def example_command(file: Path, force: bool) -> None:
    """Write 20,000 made-up people to FILE (.csv), to try plans on: how they get to work, for how long, and where they live."""
    if file.suffix != ".csv":
        raise InvalidInput(
            f"the example is a CSV file, and {file.name} is not a name for one. Use one that ends in .csv."
        )
    check_place(file)
    people = example_people()
    rows = [people, *zip(*people.values(), strict=True)]
    write_new(file, "".join(",".join(map(str, row)) + "\n" for row in rows), replace=force)
    print_lines(f"wrote {len(rows) - 1:,} made-up people to {file}; columns: {', '.join(people)}")
