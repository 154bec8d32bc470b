"""`shuffledp web` in Chromium: bytes and seconds to a first answer, and milliseconds from a moved slider to a number.

Goals: less than 300 kB and 1 s without a cache; 300 ms from a moved slider to a number that holds (median, n from 1e3 to 1e9).
Both are measured in the page: from the event to the moment at which a new number is in the document. "holds" is the first number
that is a guarantee, "final" the one that is kept; they differ where a quick certified bound is shown before the tight one.
"""

import os
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from oracles.browser import chromium, person
from oracles.planner import planner

SHIFT = """
(index) => new Promise((done) => {
  const slider = document.querySelector(".field:has(#field-%s) input[type=range]");
  const begun = performance.now();
  let holds = null;
  const watch = new MutationObserver(() => {
    const found = document.querySelector("#answer-numbers:not(.stale)");
    if (!found) return;
    holds ??= performance.now() - begun;
    if (found.dataset.certain !== "true") return;
    watch.disconnect();
    done([holds, performance.now() - begun]);
  });
  for (const card of document.querySelectorAll("#answer .card")) card.classList.add("stale");
  watch.observe(document.getElementById("answer"), { childList: true, subtree: true });
  slider.value = index;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
})
"""
LOAD = """
() => new Promise((done) => {
  const look = () => {
    if (!document.querySelector("#answer-numbers")) { setTimeout(look, 5); return; }
    const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
    done([performance.now(), entries.reduce((sum, one) => sum + one.transferSize, 0)]);
  };
  look();
})
"""
CASES = {
    "plan, 52 rounds": "#plan",
    "plan, one round": "#plan?rounds=1",
    "plan, two answers, one round": "#plan?rounds=1&size=2",
    "plan, epsilon to accuracy": "#plan?aim=epsilon&rounds=1",
    "plan, mean": "#plan?question=mean&rounds=1",
    "account, randomized response": "#account",
    "account, two answers": "#account?size=2",
    "account, any randomizer": "#account?randomizer=generic",
    "account, Laplace": "#account?randomizer=laplace",
    "account, Gaussian": "#account?randomizer=gaussian",
    "compare, histogram": "#compare",
}
STEPS = [10, 13, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70]
"""Stops of the slider: ten for each power of ten from 100 on."""


def main() -> None:
    """Measure and print."""
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with planner() as url, chromium() as browser:
        loads = []
        for _ in range(5):
            with person(browser) as context:
                page = context.new_page()
                page.goto(f"{url}/#account")
                loads.append(page.evaluate(LOAD))
        seconds, size = median(load[0] for load in loads) / 1000, max(load[1] for load in loads)
        print(f"first answer on screen     {seconds:.2f} s, {size / 1000:.0f} kB")
        print(
            f"{'moved slider of people':32}  {'holds: median':>14}  {'worst':>8}  {'final: median':>14}  {'worst':>8}"
        )
        for name, address in CASES.items():
            with person(browser) as context:
                page = context.new_page()
                page.goto(f"{url}/{address}")
                page.evaluate(LOAD)
                times = [page.evaluate(SHIFT % "n", step) for step in STEPS]
            holds, final = zip(*times, strict=True)
            cells = [
                f"{median(holds):11.0f} ms",
                f"{max(holds):5.0f} ms",
                f"{median(final):11.0f} ms",
                f"{max(final):5.0f} ms",
            ]
            print(f"{name:32}  {'  '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
