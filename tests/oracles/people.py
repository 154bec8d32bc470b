"""Made-up people, and files of them of every kind."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, feather, ipc, parquet

NUMBERS = np.round(np.random.default_rng(0).uniform(0, 10, 2000), 3)
COLOURS = np.random.default_rng(1).choice(["red", "green", "blue"], 2000, p=[0.5, 0.3, 0.2])


def write(path: Path, columns: dict[str, Any]) -> Path:
    data = pa.table(columns)
    if path.suffix == ".csv":
        csv.write_csv(data, path)
    elif path.suffix == ".gz":
        with pa.CompressedOutputStream(str(path), "gzip") as out:
            csv.write_csv(data, out)
    elif path.suffix == ".parquet":
        parquet.write_table(data, path, row_group_size=700)
    elif path.suffix == ".feather":
        feather.write_feather(data, str(path))
    else:
        with pa.OSFile(str(path), "wb") as out, ipc.new_stream(out, data.schema) as writer:
            writer.write_table(data, max_chunksize=300)
    return path
