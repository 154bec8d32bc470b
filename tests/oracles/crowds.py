"""The divergence of mixed crowds of thousands, by a Fourier transform of the histogram: no formula of the package."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def mixed_delta(
    rows: Reals, others: Sequence[int], x: int, w: int, epsilon: float, *, draws: int = 0, cells: int | None = None
) -> float:
    """Between a user who holds x and one who holds w, if so many others hold each input; three messages.

    Draws of the blanket may be among the others' messages. Fewer cells than users fold the histogram, which is harmless
    if they are a few dozen standard deviations.
    """
    n = sum(others) + draws + 1
    cells = n + 1 if cells is None else min(cells, n + 1)
    angle = 2 * np.pi * np.arange(cells) / cells
    first, second = np.exp(-1j * angle)[:, None], np.exp(-1j * angle)[None, : cells // 2 + 1]

    def transform(law: Reals) -> NDArray[np.complex128]:
        return np.asarray(law[0] * first + law[1] * second + law[2])

    floor = rows.min(axis=0)
    spectrum = transform(rows[x] - np.exp(epsilon) * rows[w]) * transform(floor / floor.sum()) ** draws
    for row, count in zip(rows, others, strict=True):
        spectrum = spectrum * transform(row) ** count
    return float(np.maximum(np.fft.irfft2(spectrum, s=(cells, cells)), 0.0).sum())
