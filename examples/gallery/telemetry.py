# %% [markdown]
# # Telemetry over HTTP
#
# Programs report how they are used, and nobody learns what any one copy said: the *shuffler* sees who sends and cannot read, the
# *analyzer* reads and cannot see who sent. Here both run on this machine; in earnest they are two parties.
#
# The question is how programs format texts. Each of 3,000 Python files that are installed here answers for itself.

# %%
import json
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from itertools import islice
from pathlib import Path

import pandas as pd

WAYS = {"f-string": r"\bf['\"]", "format": r"['\"]\.format\(", "percent": r"['\"] % ", "none": ""}
HERE = Path("telemetry")  # all files of this example


def newest_way(program: Path) -> str:
    """The newest way of formatting that a program uses."""
    text = program.read_text(errors="replace")
    return next(way for way, pattern in WAYS.items() if re.search(pattern, text))


def shuffledp(command: str) -> None:
    """Type a command in the folder, and show what it says."""
    print(f"$ shuffledp {command}", flush=True)
    done = subprocess.run([sys.executable, "-m", "shuffledp", *shlex.split(command)], cwd=HERE, check=True, stdout=-1)
    print(done.stdout.decode())


shutil.rmtree(HERE, ignore_errors=True)
HERE.mkdir()
programs = islice(Path(sysconfig.get_path("purelib")).rglob("*.py"), 3000)
answers = pd.DataFrame({"way": [newest_way(program) for program in programs]})
answers.to_csv(HERE / "answers.csv")

# %% [markdown]
# **Agree** on the question, the guarantee and the terms of the collection. Everybody can check the task's number.

# %%
shuffledp("plan histogram --labels f-string,format,percent,none --n 2500 --epsilon 1 --delta 1e-6 -o plan.json")
shuffledp(
    "task new plan.json --window 3600 --max-age 86400 --shuffler Alpha --analyzer Beta --honest-fraction 1 -o task.json"
)

# %% [markdown]
# **Keys.** Reports are sealed twice: for the shuffler, and within for the analyzer. Each party makes its own keys; the tokens say
# who may release a batch, and who may fetch it.

# %%
for role in ("shuffler", "analyzer"):
    shuffledp(f"keygen {role} -o {role}.key")
for role in ("operator", "analyzer"):
    shuffledp(f"tokens key -o {role}.token")

# %% [markdown]
# **Shuffle and analyze.** The shuffler is a process that says where it listens. Each row is a client of its own: it randomizes,
# seals and sends. Then the batch is released, and the analyzer opens it.

# %%
options = (
    "--keys shuffler.key --next-keys analyzer.pub.json --operator-token operator.token --analyzer-token analyzer.token"
)
serve = f"shuffler serve task.json --store store.db {options} --port 0"
with subprocess.Popen([sys.executable, "-m", "shuffledp", *serve.split()], cwd=HERE, stdout=-1, text=True) as shuffler:
    try:
        listening = next(line for line in shuffler.stdout if line.startswith("listening"))
        url = f"http://127.0.0.1:{listening.split()[-1]}"
        shuffledp(f"simulate-clients task.json answers.csv --column way --url {url} --analyzer-keys analyzer.pub.json")
        shuffledp(f"shuffler close task.json --url {url} --token operator.token")
        shuffledp(
            f"analyzer run task.json --url {url} --token analyzer.token --keys analyzer.key --opened opened -o result.json"
        )
    finally:
        shuffler.terminate()

# %% [markdown]
# What the analyzer published, beside what it never saw:

# %%
estimate = json.loads((HERE / "result.json").read_text())["estimate"]
truth = Counter(answers["way"])
table = pd.DataFrame(
    {"private estimate": estimate["value"], "truth": [truth[way] for way in estimate["names"]]}, index=estimate["names"]
)
table.round(1)

# %%
margins = [1.96 * error for error in estimate["standard_error"]]
axes = table.plot.barh(color=["#56B4E9", "#E69F00"], xerr=[margins, [0] * len(table)], capsize=3, figsize=(5.6, 3.2))
axes.invert_yaxis()
axes.set(title="How Python programs format texts", xlabel="programs")
axes.figure.savefig("gallery-telemetry.png", dpi=150, bbox_inches="tight")
