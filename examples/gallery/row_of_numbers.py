# %% [markdown]
# # A row of eight numbers from one message
#
# 6,366 women answered eight questions of a magazine. Each sends one message of about 60 bits about all eight, and the means
# of all eight come out. The data come with statsmodels.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels

from shuffledp import Session, plan

women = pd.read_csv(Path(statsmodels.__file__).parent / "datasets" / "fair" / "fair.csv").drop(columns="affairs")
ranges = {
    "rate_marriage": (1, 5), "age": (15, 45), "yrs_married": (0, 25), "children": (0, 6), "religious": (1, 4), "educ": (8, 20),
    "occupation": (1, 6), "occupation_husb": (1, 6),
}  # fmt: skip
asked_as = [
    "happiness",
    "age",
    "years married",
    "children",
    "religiousness",
    "education",
    "occupation",
    "husband's occupation",
]
print(f"{len(women):,} women, {women.shape[1]} columns")

# %% [markdown]
# **Plan and run.** The ranges are those of the form that was filled in. With four messages each, instead of one, the errors are
# smaller at the same epsilon. To compare both, everybody is asked twice here, and a session keeps the budget.

# %%
answers, budget = {}, Session(epsilon=2.0, delta=2e-6)
for messages in (1, 4):
    asked = plan.vector(ranges=ranges, n=6000, epsilon=1.0, delta=1e-6, messages_per_user=messages)
    answers[messages] = budget.run(asked, women)
print(asked, budget, sep="\n")

# %%
for name, value, error in zip(ranges, answers[4].estimate.value, answers[4].estimate.standard_error, strict=True):
    print(f"{name:16} {value:6.2f} +- {error:.2f}; the truth, which nobody would know: {women[name].mean():.2f}")

# %% [markdown]
# **The picture** has every column in percent of its own range.

# %%
low, high = np.array(list(ranges.values()), dtype=float).T
places = np.arange(len(ranges))
picture, axes = plt.subplots(figsize=(7.2, 4.8), layout="constrained")
for (messages, answer), shift, colour in zip(answers.items(), (0.15, -0.15), ("#D55E00", "#0072B2"), strict=True):
    value = 100 * (answer.estimate.value - low) / (high - low)
    reach = 1.96 * 100 * answer.estimate.standard_error / (high - low)
    label = "one message each" if messages == 1 else f"{messages} messages each"
    axes.errorbar(value, places[::-1] + shift, xerr=reach, fmt="o", color=colour, linewidth=2, capsize=4, label=label)
truth = 100 * (women[list(ranges)].mean().to_numpy() - low) / (high - low)
axes.scatter(truth, places[::-1], marker="|", s=400, color="black", linewidth=2, label="the truth", zorder=3)
axes.set_yticks(places[::-1], asked_as, fontsize=12)
axes.set_xlabel("mean answer, in percent of the range, with 95 % intervals", fontsize=12)
axes.tick_params(axis="x", labelsize=12)
axes.set_title("Eight means, epsilon = 1 each time", fontsize=14)
axes.legend(fontsize=11)
picture.savefig("gallery-row-of-numbers.png", dpi=150)
picture
