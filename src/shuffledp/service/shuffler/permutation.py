"""The order in which a batch is released: a pseudo-random permutation that a secret of 32 bytes decides.

Records are sorted by AES-256 of their ids under the secret. Ids are distinct and AES is a permutation of blocks, so the sorted
order is that of distinct pseudo-random blocks: every order is equally likely, it does not depend on the order of arrival, and
after a crash the same secret gives the same order again. (Whoever puts one record into two bundles makes two equal ids; the same
bytes then stand side by side.)
"""

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from shuffledp.service.wire.record import ID


def order(ids: NDArray[np.uint8], secret: bytes) -> NDArray[np.intp]:
    """Which record comes first, second, ...: row numbers of `ids`, which has 16 bytes per row.

    >>> sorted(order(np.arange(48, dtype=np.uint8).reshape(3, 16), bytes(32)).tolist())
    [0, 1, 2]
    """
    blocks = np.ascontiguousarray(ids, dtype=np.uint8).reshape(-1, ID)
    encryptor = Cipher(algorithms.AES256(secret), modes.ECB()).encryptor()  # noqa: S305 - of distinct blocks, see above
    places = np.frombuffer(encryptor.update(blocks.tobytes()), dtype=">u8").reshape(-1, 2)
    return np.lexsort((places[:, 1], places[:, 0]))
