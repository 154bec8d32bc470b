# %% [markdown]
# # A private survey, by group
#
# In 1974, 6,366 women told a magazine how happy their marriage is, and whether they had an affair (Fair 1978; the answers
# come with statsmodels). Nobody should learn what any one of them said. How many had an affair, by happiness?

# %%
from pathlib import Path

import pandas as pd
import statsmodels

from shuffledp import plan, run

women = pd.read_csv(Path(statsmodels.__file__).parent / "datasets" / "fair" / "fair.csv")
women[["rate_marriage", "affairs"]].head()

# %% [markdown]
# **Plan** before anybody is asked: the question, the guarantee, and how far off the answer will be. One message tells the pair
# of happiness and answer, so the groups cost nothing extra, and which group a woman is in is as private as her answer.

# %%
asked = plan("query", n=6000, epsilon=1.0, delta=1e-6, by={"rate_marriage": ["1", "2", "3", "4", "5"]})
asked = asked.worded(title="Had an affair, by happiness of the marriage (1 very poor ... 5 very good)")
asked

# %% [markdown]
# **Run.** Each row is randomized on its own, the messages are shuffled, and only their counts are used. `truth=True` adds the
# true shares, to see how good the answer is; they are not private, and in a real survey nobody has them.

# %%
answer = run(asked, women, query="affairs > 0", truth=True)
answer

# %%
picture = answer.plot()
picture.savefig("gallery-survey-by-group.png", dpi=150)
picture
