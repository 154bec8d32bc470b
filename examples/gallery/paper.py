# %% [markdown]
# # Reproduce the paper
#
# *The Privacy Blanket of the Shuffle Model* (Balle, Bell, Gascón, Nissim, CRYPTO 2019) shows why a crowd hides its members, and
# how well. This draws the blanket itself (the paper's Figure 2), and its two bounds, with their known errors corrected,
# beside certified ones from below and from above.

# %%
import matplotlib.pyplot as plt
import numpy as np

from shuffledp import Laplace, RandomizedResponse
from shuffledp.accounting.account import bound_named
from shuffledp.accounting.solve import Problem, solve

# %% [markdown]
# **The blanket.** Each value has its own law of noisy messages. Below all of them lies the same part: with that probability a
# message has nothing to do with its sender.

# %%
laplace = Laplace(epsilon0=1.0)
message = np.linspace(-4, 6, 400)
laws = {value: laplace.density(message, value) for value in (0.0, 0.5, 1.0)}
below_all = laplace.gamma * laplace.omega(message)
print(f"a message says nothing about its sender with probability {laplace.gamma:.2f}")

# %% [markdown]
# **The bounds**, for randomizers with local epsilon0 = 2: each message by itself hides its sender by a factor of e² only. The
# best one also bounds epsilon from below: no proof whatsoever can get below that.

# %%
USERS = [10**power for power in range(3, 9)]
BOUNDS = ["hoeffding", "bennett", "best"]
BLANKETS = {
    "randomized response, 10 values": RandomizedResponse(size=10, epsilon0=2.0).blanket(),
    "Laplace noise": Laplace(epsilon0=2.0).blanket(),
}
found = {}
for name, blanket in BLANKETS.items():
    problems = [Problem(randomizer=blanket, n=n, delta=1e-6) for n in USERS]
    found[name] = {bound: [solve(bound_named(bound), problem) for problem in problems] for bound in BOUNDS}
    million = found[name]["best"][3]
    print(f"{name}, a million users: epsilon is between {million.lower:.6f} and {million.value:.6f}")

# %% [markdown]
# In the picture, epsilon is drawn as a multiple of the lower bound.

# %%
LABELS = {"hoeffding": "paper, Hoeffding", "bennett": "paper, Bennett", "best": "shuffledp"}
picture, (top, *panels) = plt.subplots(3, 1, figsize=(4.8, 8.4), layout="constrained")
for value, law in laws.items():
    top.plot(message, law, label=f"value {value:g}")
top.fill_between(message, below_all, color="#BBBBBB", label="blanket")
top.set(title="the blanket of Laplace noise", xlabel="message", ylabel="density", ylim=0)
top.legend(frameon=False)
for panel, (name, solutions) in zip(panels, found.items(), strict=True):
    for bound, label in LABELS.items():
        ratios = [one.value / best.lower for one, best in zip(solutions[bound], solutions["best"], strict=True)]
        panel.plot(USERS, ratios, marker="o", markersize=3, label=label)
    panel.axhline(1, color="black", linestyle=":", label="no proof can be below")
    panel.set(
        title=name, xscale="log", xlabel="users", ylabel="epsilon as a multiple\nof the lower bound", ylim=(0.9, 3.3)
    )
panels[0].legend(frameon=False, loc="center right", fontsize="small")
picture.savefig("gallery-paper.png", dpi=150)
