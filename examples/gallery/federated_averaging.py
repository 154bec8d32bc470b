# %% [markdown]
# # Federated averaging
#
# 5,000 women train a model together that predicts who has an affair, and each keeps her answers. In each round every woman works
# out how she would change the model, and sends one message of about 55 bits in its place. A shuffler mixes the messages, and the
# server decodes their mean. The data: 6,366 answers to a magazine (they come with statsmodels).

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels

from shuffledp import plan
from shuffledp.federated.rounds import Rounds
from shuffledp.federated.shuffling import shuffled
from shuffledp.federated.update_encoder import UpdateEncoder
from shuffledp.service.analyzer.ledger import Ledger

CLIENTS, ROUNDS, RATE = 5_000, 12, 5.0

women = pd.read_csv(Path(statsmodels.__file__).parent / "datasets" / "fair" / "fair.csv").sample(frac=1, random_state=1)
affair = (women.pop("affairs") > 0).to_numpy(dtype=float)
low, high = np.array([1, 15, 0, 0, 1, 8, 1, 1]), np.array([5, 45, 25, 6, 4, 20, 6, 6])  # known before any answer is
rows = np.column_stack([np.ones(len(women)), 2 * (women.to_numpy() - low) / (high - low) - 1])
print(f"{CLIENTS:,} clients with {rows.shape[1]} numbers each; {len(rows) - CLIENTS:,} others test the model")

# %% [markdown]
# **Client and server.** A client's update is the gradient of her own loss. The encoder cuts it down to a length of 1 and makes
# the message. The server books each round in a ledger before it asks anybody; `epsilon` is for all rounds together.


# %%
def updates(model: np.ndarray) -> np.ndarray:
    """How each client would change the model."""
    own, answer = rows[:CLIENTS], affair[:CLIENTS]
    return np.asarray((answer - 1 / (1 + np.exp(-own @ model)))[:, None] * own)


def accuracy(model: np.ndarray) -> float:
    """The share of the others for whom the model is right."""
    return float(np.mean((rows[CLIENTS:] @ model > 0) == affair[CLIENTS:]))


def trained(epsilon: float) -> list[float]:
    """The accuracy after each round."""
    asked = plan.vector(dimension=9, norm=1, n=CLIENTS, epsilon=epsilon, delta=1e-6, rounds=ROUNDS)
    encoder = UpdateEncoder(asked)
    server = Rounds(asked, Ledger(Path(tempfile.mkdtemp()) / "ledger", epsilon=epsilon, delta=1e-6))
    model = np.zeros(9)
    right = [accuracy(model)]
    for _ in range(ROUNDS):
        balance = server.begin()
        reports = encoder.encode(updates(model)).reports
        model = model + RATE * server.mean(shuffled(asked, reports)).value
        right.append(accuracy(model))
    print(
        f"epsilon {epsilon}: {right[-1]:.1%} right after {balance.releases} rounds; {balance.spent_epsilon:.3g} spent"
    )
    return right


# %% [markdown]
# **Train**, with three budgets, and without any protection to compare.

# %%
runs = {f"epsilon {epsilon}": trained(epsilon) for epsilon in (1.0, 0.3, 0.1)}
model, without = np.zeros(9), [accuracy(np.zeros(9))]
for _ in range(ROUNDS):
    model = model + RATE * updates(model).mean(axis=0)
    without.append(accuracy(model))

# %% [markdown]
# The other two lines of the picture: somebody who says "no affair" of everybody, and training without any protection.

# %%
picture, axes = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
axes.plot(without, color="black", linewidth=2.5, label="not private")
for (name, right), colour in zip(runs.items(), ("#0072B2", "#009E73", "#D55E00"), strict=True):
    axes.plot(right, color=colour, linewidth=2, marker="o", markersize=4, label=f"{name} in all")
axes.axhline(without[0], color="#777777", linestyle="--", label='always "no affair"')
axes.set_xlabel("rounds of training", fontsize=13)
axes.set_ylabel("women for whom the model is right", fontsize=13)
axes.yaxis.set_major_formatter("{x:.0%}")
axes.set_xticks(range(0, ROUNDS + 1, 2))
axes.tick_params(labelsize=12)
axes.set_title(f"One message from each of {CLIENTS:,} clients in every round", fontsize=14)
axes.legend(fontsize=11, loc="lower right")
picture.savefig("gallery-federated-averaging.png", dpi=150)
picture
