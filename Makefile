# On a machine with only git, make, python3 (>= 3.11) and pip every target sets up what it needs.
PYTHON ?= python3
UV_VERSION := 0.13.7
UV := .uv/$(UV_VERSION)/bin/uv
RUN := .venv/bin/
VENV := .venv/pyvenv.cfg
DEMO := .venv/.demo
READY := .venv/.ready
SPARK := .venv/.spark
FLOWER := .flower/.ready
export UV_PYTHON_DOWNLOADS := never
# Where this is set (as in many images of Python) every program that a test starts compiles all that it imports, for seconds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo quick test test-all test-versions check proof bench mutants format docs site soundness licences lock package clean browser postgres java prover

demo: $(DEMO)
	$(RUN)python examples/demo.py

# What tests/kinds.py leaves in: no browser, server, Java, build or pin, and nothing slow.
quick: $(READY)
	$(RUN)pytest --quick -n auto --dist loadfile

test: $(SPARK) $(FLOWER) browser postgres java
	$(RUN)pytest -n auto --dist loadgroup

test-all: $(SPARK) $(FLOWER) browser postgres java prover
	SHUFFLEDP_TEST_SCALE=6 $(RUN)pytest -n auto --dist loadgroup

# The fast tests at the lowest versions of what is needed, at the locked ones and at the newest, on three versions of Python.
PYTHONS ?= 3.11 3.12 3.13
test-versions: $(UV)
	$(PYTHON) tools/versions.py $(UV) $(PYTHONS)

check: $(READY)
	$(RUN)ruff format --check .
	$(RUN)ruff check .
	$(RUN)mypy
	$(RUN)lint-imports

# The theorems of proofs/, by Coq, and false variants of them, which must fail (proofs/README.md).
proof: prover
	$(PYTHON) tools/proofs.py

bench: $(SPARK) postgres java
	@mkdir -p build && rm -f build/figures.jsonl
	for script in benchmarks/bench_*.py; do SHUFFLEDP_FIGURES=build/figures.jsonl $(RUN)python $$script || exit 1; done
	@$(RUN)python benchmarks/goals.py build/figures.jsonl

# Bugs planted one at a time, and those that no test notices (docs/mutants.md); MUTANTS="--group core --sample 50" chooses.
mutants: $(SPARK) postgres java
	PYTHONPATH=tests $(RUN)python -m mutants $(MUTANTS)

format: $(READY)
	$(RUN)ruff format .
	$(RUN)ruff check --fix .

$(UV):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "shuffledp needs Python 3.11 or newer: set PYTHON=...")'
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target .uv/$(UV_VERSION) uv==$(UV_VERSION)

$(VENV): | $(UV)
	$(UV) venv --quiet --python $(PYTHON) .venv

EDITABLE = $(UV) pip install --quiet --python .venv --no-deps --no-build-isolation --editable .

# What the demo needs is a part of what development needs, at the same versions: nothing is removed for it.
$(DEMO): requirements/demo.txt pyproject.toml | $(VENV)
	$(UV) pip install --quiet --python .venv --require-hashes --requirements requirements/demo.txt
	$(EDITABLE)
	touch $@

# Spark stays, if it is there.
$(READY): requirements/lock.txt pyproject.toml | $(VENV)
	$(UV) pip sync --quiet --python .venv --require-hashes requirements/lock.txt $(if $(wildcard $(SPARK)),requirements/spark.txt)
	$(EDITABLE)
	touch $@

# Only the tests and benchmarks need Spark.
$(SPARK): $(READY) requirements/spark.txt
	$(UV) pip install --quiet --python .venv --require-hashes --requirements requirements/spark.txt
	touch $@

# Flower asks for older versions of what is locked for everything else: it lives beside it.
$(FLOWER): requirements/flower.txt pyproject.toml | $(UV)
	$(UV) venv --quiet --clear --python $(PYTHON) .flower
	$(UV) pip sync --quiet --python .flower --require-hashes requirements/flower.txt
	$(UV) pip install --quiet --python .flower --no-deps --no-build-isolation --editable .
	touch $@

# The survey page is tested in a real Chromium.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium >/dev/null && command -v chromium >/dev/null; \
	} || { echo "the tests need Chromium, which could not be installed here. Install the package chromium, then run make again." >&2; exit 1; }

# A store of the shuffler is tested in a real PostgreSQL server, which the tests start and stop.
postgres:
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null || { \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends postgresql >/dev/null && \
		ls /usr/lib/postgresql/*/bin/postgres >/dev/null; \
	} || { echo "the tests need a PostgreSQL server, which could not be installed here. Install the package postgresql, then run make again." >&2; exit 1; }

# Spark runs on Java 17 or one of the later ones with long support; it takes that of JAVA_HOME first.
java:
	@found() { "$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | grep -Eq 'version "(17|21|25)'; }; found || { \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends openjdk-17-jre-headless >/dev/null && found; \
	} || { echo "the tests need Java 17 for Spark, which could not be installed here. Install the package openjdk-17-jre-headless and unset JAVA_HOME, then run make again." >&2; exit 1; }

# The proofs are written for Coq 8.16 with MathComp 1.15, as in Debian 12.
prover:
	@found() { command -v coqc >/dev/null && test -d "$$(coqc -where)/user-contrib/mathcomp/algebra"; }; found || { \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends coq libcoq-mathcomp-algebra >/dev/null && found; \
	} || { echo "the proofs need Coq with MathComp, which could not be installed here. Install the packages coq and libcoq-mathcomp-algebra, then run make again." >&2; exit 1; }

docs: $(READY)
	$(RUN)python docs/regenerate.py
	$(RUN)python tools/gallery.py

site: $(READY)
	$(RUN)sphinx-build -W --keep-going -q -b html docs build/site
	@echo "the documentation is in build/site/index.html"

# What is claimed, how it was tested, and what is not proved: docs/soundness.md. Takes minutes.
soundness: $(SPARK) $(FLOWER) browser postgres java prover
	SHUFFLEDP_PROVE=1 $(RUN)python tools/soundness.py

licences: $(READY)
	$(RUN)python tools/licences.py

# Newer versions of everything; UPGRADE= keeps the pins, and only does what pyproject.toml asks for.
UPGRADE ?= --upgrade
LOCK = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock"
LOCKED = $(LOCK) $(UPGRADE) --constraint requirements/lock.txt
lock: $(UV)
	$(LOCK) $(UPGRADE) --extra all --extra demo --group dev pyproject.toml --output-file requirements/lock.txt
	$(LOCKED) --extra spark pyproject.toml --output-file requirements/spark.txt
	$(LOCK) $(UPGRADE) --extra flower --group beside pyproject.toml --output-file requirements/flower.txt
	$(LOCKED) --extra service --extra postgres pyproject.toml --output-file requirements/service.txt
	$(LOCKED) --extra run --extra service --extra figures --extra demo --group editable pyproject.toml --output-file requirements/demo.txt
	$(LOCKED) --group build --output-file requirements/build.txt
	mkdir -p build
	$(LOCK) --upgrade --resolution lowest-direct --extra all --extra demo pyproject.toml --output-file build/lowest.txt
	$(LOCK) $(UPGRADE) --constraint build/lowest.txt --extra all --extra demo --group test pyproject.toml --output-file requirements/lowest.txt

# A wheel and a source archive, in dist.
package: $(READY)
	rm -rf dist
	$(RUN)hatchling build

clean:
	rm -rf .venv .flower .versions .uv demo build dist
