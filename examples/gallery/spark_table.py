# %% [markdown]
# # A table in Spark
#
# Does free health care make more people see a doctor? The RAND Health Insurance Experiment let chance decide how much of
# every bill people paid themselves (the data come with statsmodels). Here they are a table in Spark, a row for each person; you
# need `shuffledp[run,spark]` and Java 17.

# %%
import os
import sys
from pathlib import Path

import statsmodels
from pyspark.sql import SparkSession

from shuffledp import plan, run

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors on this machine take this Python
spark = SparkSession.builder.getOrCreate()
file = Path(statsmodels.__file__).parent / "datasets" / "randhie" / "src" / "randhie.csv"
years = spark.read.csv(str(file), header=True, inferSchema=True)
people = years.where("year = 1").select("zper", "coins", "mdvis")
people.show(5)

# %% [markdown]
# **Plan** on your own machine, in a moment: who saw a doctor, by the percentage of each bill that people pay.

# %%
asked = plan("query", n=5000, epsilon=1.0, delta=1e-6, by={"coins": ["0", "25", "50", "95", "100"]})
asked = asked.worded(title="Saw a doctor in a year, by the percentage of the bill that people pay")
asked

# %% [markdown]
# **Run** where the rows are: executors randomize and count, and only counts come back. A row's randomness is that of its number,
# so a task that Spark repeats gives nobody a second report. Here the person's own number serves (`row_id`).

# %%
answer = run(asked, people, query="mdvis > 0", row_id="zper", truth=True)
answer

# %%
picture = answer.plot()
picture.savefig("gallery-spark-table.png", dpi=150)
picture
