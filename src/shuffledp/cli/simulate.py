"""`shuffledp simulate`: what a plan would answer, many times over, from a true histogram alone."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from shuffledp.cli.files import read_plan
from shuffledp.cli.numbers import Wholes
from shuffledp.cli.progress import progress
from shuffledp.errors import InvalidInput
from shuffledp.planning.plan import Plan
from shuffledp.protocols.bins import Bins
from shuffledp.protocols.histogram import Histogram

_FILE = click.Path(dir_okay=False, path_type=Path)
_AT_ONCE = 1 << 22


@click.command("simulate")
@click.argument("plan", type=_FILE)
@click.option(
    "--truth", type=_FILE, required=True, help="CSV with a header: a value or label, and how many users hold it."
)
@click.option("--trials", type=Wholes(), default="1000", show_default=True, help="Runs.")
@click.option("--seed", type=Wholes(), help="Repeat a simulation [default: a new one each time].")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def simulate_command(
    plan: Path, truth: Path, trials: tuple[int, ...], seed: tuple[int, ...] | None, as_json: bool
) -> None:
    """How far off PLAN's answers are for users as in --truth: exact in law, a billion users in milliseconds.

    Simulated answers carry no guarantee.
    """
    if len(trials) != 1 or trials[0] < 1 or (seed is not None and (len(seed) != 1 or seed[0] < 0)):
        raise InvalidInput("trials and seed are one number each, trials at least 1. Give e.g. --trials 1000.")
    chosen = read_plan(plan)
    keys, users = _read(truth)
    found = _simulate(chosen, keys, users, trials[0], np.random.default_rng(seed[0] if seed else None))
    if as_json:
        click.echo(json.dumps(found, indent=2, allow_nan=False))
        return
    click.echo(f"{found['n']:,} users, {found['trials']:,} simulated runs of a {chosen.task}")
    click.echo(f"root mean squared error: {found['rmse']:.6g} (forecast for these data: {found['expected_rmse']:.6g})")
    click.echo(f"95 % intervals that hold the truth: {100 * found['coverage']:.2f} %")


def _simulate(
    plan: Plan, keys: list[str], users: NDArray[np.int64], trials: int, generator: np.random.Generator
) -> dict[str, Any]:
    protocol, n = plan.protocol, int(users.sum())
    scale = n if plan.is_mean else 1
    if isinstance(protocol, Histogram):
        truth = np.zeros(plan.size)
        where = [_bin(protocol.bins, key) for key in keys]
        np.add.at(truth, where, users)
        held = truth.astype(np.int64)
        expected = protocol.mean_squared_error(n)
    else:
        values = _numbers(keys, protocol.low, protocol.high)
        truth = np.array([math.fsum(values * users)])
        expected = float(protocol.user_error(values) @ users)
    squared, inside, seen, total = 0.0, 0, 0, np.zeros(len(truth))
    batch = max(1, min(trials, _AT_ONCE // max(plan.size, len(keys))))
    with progress(trials, "Simulating") as bar:
        for start in range(0, trials, batch):
            runs = min(batch, trials - start)
            if isinstance(protocol, Histogram):
                found = protocol.debias(protocol.simulate(np.tile(held, (runs, 1)), generator))
                spread = np.sqrt(protocol.variance(np.clip(found, 0, n), n))
            else:
                found = protocol.debias(protocol.simulate(values, users, generator, runs))[:, None]
                spread = np.full_like(found, math.sqrt(protocol.mean_squared_error(n)))
            error = found - truth
            squared += float(np.square(error).sum())
            inside += int((np.abs(error) <= 1.959963984540054 * spread).sum())
            seen += error.size
            total += error.sum(axis=0)
            bar.update(runs)
    return {
        "task": plan.task, "n": n, "trials": trials, "rmse": math.sqrt(squared / trials) / scale,
        "expected_rmse": math.sqrt(expected) / scale, "forecast_rmse": plan.rmse,
        "bias": (total / trials / scale).tolist(), "coverage": inside / seen, "guarantee": None,
    }  # fmt: skip


def _read(path: Path) -> tuple[list[str], NDArray[np.int64]]:
    keys, users = [], []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.reader(file))
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}. Give a CSV of values and counts.") from None
    except (UnicodeDecodeError, csv.Error):
        raise InvalidInput(f"{path} is not a CSV file. Give one of values and counts.") from None
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        try:
            key, text = row
            count = float(text)
        except ValueError:
            raise InvalidInput(f"line {number} of {path} is not a value and a count. Write e.g. yes,120.") from None
        if not (0 <= count <= 1e15 and count == int(count)):
            raise InvalidInput(f"line {number} of {path} has a count that is not a whole number of users. Mend it.")
        keys.append(key.strip())
        users.append(int(count))
    if not 0 < sum(users) <= 10**15:
        raise InvalidInput(f"{path} must have from 1 to 1e15 users. Give a header and lines like yes,120.")
    return keys, np.array(users, dtype=np.int64)


def _bin(bins: Bins, key: str) -> int:
    """A bin by its name or, for intervals, by a number in it."""
    if bins.numeric and key not in bins.names:
        return int(bins.place(_numbers([key], bins.low or 0.0, bins.high or 0.0))[0])
    return bins.index(key)


def _numbers(keys: list[str], low: float, high: float) -> NDArray[np.float64]:
    try:
        values = np.array([float(key) for key in keys])
    except ValueError:
        values = np.array([np.nan])
    if not (values.min() >= low and values.max() <= high):
        raise InvalidInput(f"a value of the truth is not a number in [{low}, {high}]. Mend it, or use another plan.")
    return values
