"""Make the notebooks of examples/gallery from its scripts, and with --pictures run the scripts for docs/images."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
SCRIPTS: Final = sorted((ROOT / "examples" / "gallery").glob("*.py"))


def notebook(script: str) -> dict[str, Any]:
    """A script whose cells begin with `# %%`, or `# %% [markdown]` if they are text, as a notebook without outputs."""
    _, *parts = re.split(r"^# %%", script, flags=re.MULTILINE)
    cells: list[dict[str, Any]] = []
    for number, part in enumerate(parts):
        kind, _, body = part.partition("\n")
        cell: dict[str, Any] = {"id": f"cell-{number}", "metadata": {}, "source": body.strip()}
        if kind.strip() == "[markdown]":
            cell["source"] = re.sub(r"^# ?", "", cell["source"], flags=re.MULTILINE)
            cells.append({"cell_type": "markdown", **cell})
        else:
            cells.append({"cell_type": "code", "execution_count": None, "outputs": [], **cell})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def written(script: Path) -> str:
    """The notebook of a script, as its file has it."""
    return json.dumps(notebook(script.read_text(encoding="utf-8")), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write every notebook beside its script."""
    for script in SCRIPTS:
        script.with_suffix(".ipynb").write_text(written(script), encoding="utf-8")
    if "--pictures" in sys.argv[1:]:
        for script in SCRIPTS:
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run([sys.executable, script], cwd=folder, check=True)
                for picture in Path(folder).glob("gallery-*.png"):
                    shutil.copy(picture, ROOT / "docs" / "images")


if __name__ == "__main__":
    main()
