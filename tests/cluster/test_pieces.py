"""Work that the driver sends to tasks of Spark: any amount of it, one part after the other."""

import gc
from typing import Any

import pytest

from oracles.spark_tasks import length, lengths
from shuffledp.cluster.pieces import answers, sums_of

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore"),
]  # Spark warns of versions of pandas
PIECES = [bytes(1 << 20)] * 3
FEW = 3
"""What Spark keeps of itself."""


def test_nothing_that_was_sent_is_kept(spark: Any) -> None:
    """Even if Python never looks for cycles by itself: the driver's heap keeps what an object of Python stands for."""

    def held() -> int:
        return sum(type(one).__name__ == "JavaObject" for one in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = held()
        assert sums_of(spark, PIECES, lengths, 1).counts.tolist() == [len(PIECES) << 20]
        assert held() <= before + FEW
        assert answers(spark, PIECES, length) == [b"1048576"] * len(PIECES)
        assert held() <= before + FEW
    finally:
        gc.enable()
