"""What `make demo` shows: a private survey on real answers, from the plan to the picture, and the paper's figures."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

OUT = Path("demo")


def shuffledp(*arguments: str) -> None:
    """Run the command line as a user would, showing the command."""
    shown = " ".join(f'"{word}"' if " " in word else word for word in arguments)
    print(f"\n$ shuffledp {shown}", flush=True)
    program = Path(sys.executable).with_name("shuffledp")
    # a state folder of its own, so that the demo does not count as a release of yours
    environment = os.environ | {"XDG_STATE_HOME": str(OUT.resolve() / "state")}
    subprocess.run([str(program), *arguments], check=True, env=environment)


def survey() -> Path:
    """6,366 answers of a magazine survey (Fair 1978), as statsmodels ships them."""
    found = importlib.util.find_spec("statsmodels")
    if found is None or found.origin is None:
        raise SystemExit("the demo's data come with statsmodels: install shuffledp[demo]")
    copy = OUT / "survey.csv"
    shutil.copy(Path(found.origin).parent / "datasets" / "fair" / "fair.csv", copy)
    return copy


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
    print("\nWhat the same plan costs in privacy as the crowd grows:")
    shuffledp(
        "account", "--randomizer", "rr", "--size", "5", "--epsilon0", "5", "--delta", "1e-6", "--n", "1e3,1e4,1e5,1e6"
    )
    print("\nThe figures of the paper:")
    shuffledp("figures", "--out", str(OUT))
    print(f"\nTrue and private histogram side by side: {picture}")


if __name__ == "__main__":
    main()
