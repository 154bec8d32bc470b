# %% [markdown]
# # The median of a column
#
# What does a typical person spend on health care in a year? A mean is dragged up by the few who are very ill, so ask for the
# median. The data: the first year of 5,638 people in the RAND Health Insurance Experiment (they come with statsmodels).

# %%
from pathlib import Path

import pandas as pd
import statsmodels

from shuffledp import Policy, plan, run

years = pd.read_csv(Path(statsmodels.__file__).parent / "datasets" / "randhie" / "src" / "randhie.csv")
people = years[years["year"] == 1]
print(f"{len(people):,} people, {people['zper'].nunique():,} of them different")

# %% [markdown]
# **Plan.** The range and its steps are fixed before anybody's value is seen: $0 to $500 in steps of $5. The forecast is in
# *ranks*, which is what can be promised for any data: a median within 1 percentage point of its rank has 49 to 51 % of people
# below it.

# %%
asked = plan("distribution", n=5000, epsilon=1.0, delta=1e-6, low=0, high=500, resolution=100)
asked = asked.worded(title="Health care per person in a year", unit="dollars")
asked

# %% [markdown]
# **Run.** Whoever spent more than $500 counts as $500: that moves no quantile below it.

# %%
answer = run(asked, people, column="meddol", policy=Policy(outside="clamp"))
for share in (0.25, 0.5, 0.75):
    found = answer.statistics.quantile(share)
    print(f"{share:.0%} spent less than {found.value:.0f} dollars (95 % interval: {found.low:.0f} to {found.high:.0f})")
    print(f"    the truth, which nobody would know: {people['meddol'].quantile(share):.0f}")

# %%
picture = answer.plot()
picture.savefig("gallery-median.png", dpi=150)
picture
