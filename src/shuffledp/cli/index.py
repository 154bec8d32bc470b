"""`shuffledp index`: one number per randomizer for very large crowds."""

import json
from pathlib import Path
from typing import Any

import click

from shuffledp.accounting.shuffle_index import ShuffleIndex, index_of, indices_table
from shuffledp.cli.account import Request
from shuffledp.cli.command import Command
from shuffledp.cli.numbers import given
from shuffledp.cli.output import print_lines
from shuffledp.cli.progress import working
from shuffledp.cli.randomizer_options import randomizer_options, read_channel
from shuffledp.core.blanket import RandomizerFamily
from shuffledp.errors import InvalidInput
from shuffledp.randomizers.named import RandomizerChoice, local_parameter, refuse_strays


@click.command("index", cls=Command, epilog="Exit code: 0, or 2 for bad input.")
@randomizer_options(sweep=True)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def index_command(randomizer: str, matrix: Path | None, as_json: bool, **options: Any) -> None:
    """The shuffle index chi of a randomizer (a term of Takagi and Liew, arXiv 2601.19154).

    Among n users the randomizer hides a value of 0 or 1 as well as Gaussian noise of sqrt(n) / chi does.

    Give a parameter several values, as in --epsilon0 1,2,4, to sweep it. The last column is the index that the
    privacy blanket gives instead, which shows by how much its bound is too large for very many users.
    """
    values = {name: value for name, value in options.items() if value is not None}
    refuse_strays(randomizer, values, matrix)
    kind = RandomizerChoice(name=randomizer, matrix=None if matrix is None else read_channel(matrix))
    local = local_parameter(randomizer, values, None)
    request = Request(kind=kind, values=values, local=local, rounds=1)
    indices: list[tuple[str, ShuffleIndex]] = []
    with working("Computing"):
        for point in request.points():
            blanket = kind.at(point, local)
            if isinstance(blanket, RandomizerFamily):
                raise InvalidInput(f"the randomizer's parameter is missing. Give --{blanket.parameter}.")
            indices.append((given(point[request.sweep]) if request.sweep else randomizer, index_of(blanket)))
    if as_json:
        results = [_document(index) for _, index in indices]
        inputs = {"randomizer": randomizer, **{name: v if len(v) > 1 else v[0] for name, v in values.items()}}
        print_lines(json.dumps({"inputs": inputs, "results": results}, indent=2, allow_nan=False))
        return
    print_lines(indices_table(request.sweep or "randomizer", indices))


def _document(index: ShuffleIndex) -> dict[str, float | bool | None]:
    """As JSON data; an infinite index is null."""
    ends = {"lower": index.lower, "upper": index.upper, "blanket": index.blanket}
    return {name: end if end < float("inf") else None for name, end in ends.items()} | {"known": index.known}
