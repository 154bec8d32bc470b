# %% [markdown]
# # The most frequent words, without a list of them
#
# Which words do many people type, if nobody knows beforehand which there are? Here each word of Python's own manual, which
# every Python brings along, is a person who typed it: 64,285 people and 3,104 different words.

# %%
import re
from collections import Counter
from importlib import import_module

from shuffledp import plan, run

manual = " ".join(import_module("pydoc_data.topics").topics.values())
words = [word[:12] for word in re.findall("[a-z]+", manual.lower())]
print(f"{len(words):,} people, {len(set(words)):,} different words")

# %% [markdown]
# **Plan.** One message per person, in one round. The line that matters says how many people must hold a word for it to be
# found. Rare words stay hidden: that is what protects whoever typed them.

# %%
asked = plan("heavy-hitters", n=60_000, epsilon=1.0, delta=1e-6, alphabet="a-z", max_length=12)
asked = asked.worded(title="The most frequent words of Python's manual")
asked

# %% [markdown]
# **Run**, and look at what was found beside the truth.

# %%
answer = run(asked, words)
truth = Counter(words)
found = answer.to_frame()
found["truth"] = found["name"].map(truth)
found.round(0)

# %%
picture = answer.plot()
picture.savefig("gallery-heavy-hitters.png", dpi=150)
picture
