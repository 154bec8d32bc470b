"""`shuffledp figures`: the paper's figures, redrawn, and the picture of large domains."""

import json
from pathlib import Path

import click

from shuffledp.cli.command import Command
from shuffledp.cli.keyword import Choice
from shuffledp.cli.output import print_lines
from shuffledp.cli.progress import working
from shuffledp.errors import InvalidInput


@click.command(cls=Command)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder to write to; created if missing.",
)
@click.option(
    "--only",
    type=Choice(["figure2", "figure3", "large-domains"]),
    multiple=True,
    help="Draw only this one [default: the paper's].",
)
@click.option("--json", "as_json", is_flag=True, help="Print the names of the files as JSON.")
def figures(out: Path, only: tuple[str, ...], as_json: bool) -> None:
    """Draw Figures 2 and 3 of the paper as PNG, SVG and CSV, with the corrected Bennett lemma.

    Or large-domains: which protocol errs least when there are very many values.
    """
    from shuffledp.figures import paper_figures  # matplotlib is heavy and optional
    from shuffledp.figures.large_domains import large_domains

    drawings = paper_figures.FIGURES | {"large-domains": large_domains}
    names = only or tuple(paper_figures.FIGURES)
    paths: list[Path] = []
    with working("Drawing") as say:
        for name in names:
            say(name)
            try:
                paths.extend(drawings[name](out))
            except OSError as error:
                raise InvalidInput(f"cannot write to {out}: {error.strerror}. Choose another folder.") from None
    files = [str(path) for path in paths]
    print_lines(json.dumps({"files": files}, indent=2) if as_json else "\n".join(files))
