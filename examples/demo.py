"""What `make demo` shows: a private survey on real answers, from the plan to the picture, and the paper's figures."""

import csv
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from shuffledp.core.installed import not_installed

OUT = Path("demo")
PROGRAM = Path(sys.executable).with_name("shuffledp")


def shuffledp(*arguments: str) -> None:
    """Run the command line as a user would, showing the command."""
    shown = " ".join(f'"{word}"' if " " in word else word for word in arguments)
    print(f"\n$ shuffledp {shown}", flush=True)
    # a state folder of its own, so that the demo does not count as a release of yours
    environment = os.environ | {"XDG_STATE_HOME": str(OUT.resolve() / "state")}
    subprocess.run([str(PROGRAM), *arguments], check=True, env=environment)


def survey() -> Path:
    """6,366 answers of a magazine survey (Fair 1978), as statsmodels ships them."""
    found = importlib.util.find_spec("statsmodels")
    if found is None or found.origin is None:
        raise SystemExit(str(not_installed("the demo's data come with statsmodels", "demo")))
    copy = OUT / "survey.csv"
    shutil.copy(Path(found.origin).parent / "datasets" / "fair" / "fair.csv", copy)
    return copy


def pipeline(data: str, question: str) -> None:
    """Keys, a task, a shuffler on loopback, one client per row, close, analyze."""
    here = {
        name: str(OUT / name)
        for name in (
            "task.json", "shuffler.key", "analyzer.key", "analyzer.pub.json", "store.db", "result.json", "result.html"
        )
    }  # fmt: skip
    tokens = {role: str(OUT / f"{role}.token") for role in ("operator", "analyzer")}
    for token in tokens.values():
        shuffledp("tokens", "key", "-o", token)
    shuffledp("keygen", "analyzer", "-o", here["analyzer.key"])
    shuffledp("keygen", "shuffler", "-o", here["shuffler.key"])
    operators = ("--shuffler", "Demo", "--analyzer", "Demo", "--allow-same-operator", "--honest-fraction", "1")
    shuffledp("task", "new", question, "--window", "3600", "--max-age", "86400", *operators, "-o", here["task.json"])
    serve = [
        "shuffler", "serve", here["task.json"], "--store", here["store.db"], "--keys", here["shuffler.key"],
        "--next-keys", here["analyzer.pub.json"],
        "--operator-token", tokens["operator"], "--analyzer-token", tokens["analyzer"], "--port", "0",
    ]  # fmt: skip
    print(f"\n$ shuffledp {' '.join(serve)} &", flush=True)
    server = subprocess.Popen([str(PROGRAM), *serve], stdout=subprocess.PIPE, text=True)
    try:
        lines = iter(server.stdout.readline, "") if server.stdout else iter(())
        port = next(line.split()[-1] for line in lines if line.startswith("listening"))
        url = f"http://127.0.0.1:{port}"
        shuffledp("simulate-clients", here["task.json"], data, "--column", "rate_marriage", "--url", url,
                  "--analyzer-keys", here["analyzer.pub.json"])  # fmt: skip
        shuffledp("shuffler", "close", here["task.json"], "--url", url, "--token", tokens["operator"])
        shuffledp("analyzer", "run", here["task.json"], "--url", url, "--token", tokens["analyzer"],
                  "--keys", here["analyzer.key"], "-o", here["result.json"], "--report", here["result.html"])  # fmt: skip
    finally:
        server.terminate()
        server.wait(timeout=60)
    side_by_side(Path(data), Path(here["result.json"]))
    print(f"The result as a page: {here['result.html']}")


def side_by_side(data: Path, result: Path) -> None:
    """What the analyzer never saw, and what it estimated."""
    with data.open(encoding="utf-8", newline="") as file:
        truth = Counter(f"{float(row['rate_marriage']):g}" for row in csv.DictReader(file))
    estimate = json.loads(result.read_text(encoding="utf-8"))["estimate"]
    print("\nanswer   truth   estimate   standard error")
    for label, value, error in zip(estimate["names"], estimate["value"], estimate["standard_error"], strict=True):
        print(f"{label:6} {truth[label]:7,} {value:10,.1f} {error:16,.1f}")


def main() -> None:
    """Plan, run and plot two questions; then what theory says."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    data = str(survey())
    question, share = str(OUT / "happiness.json"), str(OUT / "share.json")
    print("6,366 women told a magazine how happy their marriage is (1 very poor ... 5 very good). First the plan:")
    privacy = ("--n", "6000", "--epsilon", "1", "--delta", "1e-6")
    shuffledp("plan", "histogram", "--labels", "1,2,3,4,5", *privacy, "-o", question)
    print("\nEach answer is randomized on its own; only the shuffled answers are counted:")
    picture = str(OUT / "happiness.png")
    shuffledp("run", question, data, "--column", "rate_marriage", "--truth", "--plot", picture)
    print("\nHow many had an affair? The same people are asked again, so their budget is spent again:")
    shuffledp("plan", "histogram", "--labels", "false,true", *privacy, "-o", share)
    shuffledp("run", share, data, "--query", "affairs::DOUBLE > 0", "--truth")
    print(
        "\nThe same question as a service: sealed reports, a shuffler that knows no values, an analyzer that knows no senders."
    )
    pipeline(data, question)
    print("\nWhat the same plan costs in privacy as the crowd grows:")
    shuffledp(
        "account", "--randomizer", "rr", "--size", "5", "--epsilon0", "5", "--delta", "1e-6", "--n", "1e3,1e4,1e5,1e6"
    )
    print("\nThe figures of the paper:")
    shuffledp("figures", "--out", str(OUT))
    print(f"\nTrue and private histogram side by side: {picture}")


if __name__ == "__main__":
    main()
