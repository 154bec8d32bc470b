"""Command lines that make no sense: each is refused with one clear error, and nothing else is said or done."""

import pytest

from oracles.process import assert_refused, called

RR = "account --randomizer rr --size 10 --epsilon0 1 --n 1e6 --delta 1e-6"
DUMMIES = "account --randomizer dummies --dummies 0.5 --n 1e4 --delta 1e-6"
MEANS = "plan mean --n 1000 --epsilon 1 --delta 1e-6"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (f"{RR.replace('--delta 1e-6', '--epsilon -1')}", "epsilon must be at least 0"),
        (RR.replace("--size 10", "--size 1"), "size must be"),
        (RR.replace("--size 10", "--size 2.5"), "whole number"),
        (RR.replace("--size 10", ""), "--size"),
        (RR.replace("--n 1e6", "--n 0"), "n must be from 1"),
        (RR.replace("--n 1e6", "--n 1.5"), "whole number"),
        (RR.replace("--n 1e6", "--n many"), "not a number"),
        (RR.replace("--epsilon0 1", "--epsilon0 nan"), "not a usable number"),
        (RR.replace("--epsilon0 1", "--epsilon0 inf"), "not a usable number"),
        (RR.replace("--epsilon0 1", "--epsilon0 -1"), "epsilon0 must be"),
        (RR.replace("--epsilon0 1", "--gamma 1.5"), "gamma must be"),
        (RR + " --gamma 0.5", "Give one of them"),
        (RR.replace("--delta 1e-6", "--delta 2"), "delta must be"),
        (RR.replace("--delta 1e-6", "--delta 0"), "delta must be"),
        (RR.replace("rr", "rs", 1), "--randomizer"),
        (RR + " --bound magic", "there is no bound 'magic'"),
        (RR.replace("--delta 1e-6", ""), "exactly one quantity"),
        (RR + " --epsilon 1", "exactly one quantity"),
        (RR + " --sigma 1", "has no --sigma"),
        (RR + " --json --csv", "exclude each other"),
        (RR + " --solve-for delta", "left out"),
        (RR.replace("1e6", "1e3,1e4").replace("--epsilon0 1", "--epsilon0 1,2"), "only one quantity can be swept"),
        ("account --randomizer laplace --size 3 --epsilon0 1 --n 10 --delta 0.1", "--size belongs to rr"),
        ("account --randomizer plane --gamma 0.1 --n 10 --delta 0.1", "Add --prime"),
        ("account --randomizer plane --prime 9 --gamma 0.1 --n 10 --delta 0.1", "must be a prime number"),
        ("account --randomizer hadamard --size 1 --gamma 0.1 --n 10 --delta 0.1", "size must be"),
        ("account --randomizer hadamard --size 9 --range 2 --gamma 0.1 --n 10 --delta 0.1", "belongs to local-hashing"),
        ("account --randomizer local-hashing --size 9 --gamma 0.1 --n 10 --delta 0.1", "Add --range"),
        ("account --randomizer local-hashing --size 9 --range 12 --gamma 0.1 --n 10 --delta 0.1", "2 to 11 values"),
        ("account --randomizer gaussian --sigma 0 --n 10 --delta 0.1", "sigma must be"),
        ("account --randomizer channel --n 10 --delta 0.1", "--matrix"),
        ("account --randomizer channel --matrix no-such-file --n 10 --delta 0.1", "does not exist"),
        ("accoutn", "No such command"),
        (DUMMIES, "Add --size or --prime"),
        (DUMMIES + " --size 5 --prime 5", "not both"),
        (DUMMIES + " --size 5 --dimension 3", "belongs to a plane"),
        (DUMMIES + " --prime 4", "prime number"),
        (DUMMIES + " --size 5 --gamma 0.1", "has no --gamma"),
        ("plan histogram --n 1e4 --epsilon 1 --delta 1e-6", "needs the values to count. Give --labels"),
        ("plan histogram --size 1 --n 1e4 --epsilon 1 --delta 1e-6", "size must be"),
        ("plan sum --size 3 --n 1e4 --epsilon 1 --delta 1e-6", "a sum has no --size: it is for histogram"),
        ("plan histogram --size 3 --low 1 --n 1e4 --epsilon 1 --delta 1e-6", "both --low and --high"),
        ("plan sum --n 1e4 --epsilon 0 --delta 1e-6", "epsilon must be"),
        ("plan sum --n 1e4,1e5 --epsilon 1 --delta 1e-6", "not a single number"),
        ("plan sum --low 2 --high 1 --n 1e4 --epsilon 1 --delta 1e-6", "low must be below high"),
        ("plan sum --n 1e4 --epsilon 1 --delta 1e-6 --honest-fraction 2", "--honest-fraction must be"),
        ("plan sum --high 1e300 --n 1e4 --epsilon 1 --delta 1e-6", "high must be a number"),
        ("plan sum --rmse 1e-300 --n 1e4 --delta 1e-6", "error that small"),
        ("plan mean --rmse 0.01 --epsilon 1 --delta 1e-6 --precision 0", "--precision must be at least 1"),
        ("plan guess --n 1e4 --epsilon 1 --delta 1e-6", "guess"),
        (MEANS + " --by carrier", "takes a column and its labels"),
        (MEANS + " --by =AA,DL", "takes a column and its labels"),
        (MEANS + " --by carrier=AA,,DL", "empty text"),
        (MEANS + " --by carrier=AA,DL --by carrier=B6,UA", "twice"),
    ],
)
def test_what_is_refused(line: str, why: str) -> None:
    assert_refused(called(line), why)
