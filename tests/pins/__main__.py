"""`PYTHONPATH=tests python -m pins --write`: write the table anew, and say what has changed; without --write, say that alone.
With names of cases behind it, only these.

Everything is run five times: as it is, twice with elementary functions that are a little off, and by two processes whose numpy
and OpenBLAS use the instructions of older processors. What differs between them may differ on another machine.
"""

import json
import os
import subprocess
import sys
import time

import click

from pins.table import TABLE, cases, differences, kept, pinned, seen
from pins.watch import shaken

_OLDER = (
    {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX"},
    {"OPENBLAS_CORETYPE": "Haswell"},
)


def main() -> None:
    """Only what was asked for."""
    named = [word for word in sys.argv[1:] if not word.startswith("--")]
    if "--raw" in sys.argv:
        json.dump({name: seen(name) for name in named or cases()}, sys.stdout)
        return
    raw = [sys.executable, "-W", "ignore", "-m", "pins", "--raw", *named]
    others = [
        json.loads(subprocess.run(raw, env={**os.environ, **older}, check=True, capture_output=True).stdout)
        for older in _OLDER
    ]
    table = {name: pins for name, pins in kept().items() if name in cases()} if named else {}
    for name in named or cases():
        began = time.process_time()
        here = seen(name)
        took = time.process_time() - began
        trials = [other[name] for other in others]
        for seed in range(2):
            with shaken(seed):
                trials.append(seen(name))
        table[name] = pinned(name, here, trials)
        if took > 0.5:
            click.echo(f"{took:.1f} s: {name}")
        for difference in differences(kept().get(name, {}), here) if TABLE.exists() else ():
            click.echo(f"{name}: {difference}")
    if "--write" in sys.argv:
        lines = [f" {json.dumps(name)}: {json.dumps(pins, separators=(',', ':'))}" for name, pins in table.items()]
        text = '{"provenance": "self", "cases": {\n' + ",\n".join(lines) + "\n}}\n"
        TABLE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
