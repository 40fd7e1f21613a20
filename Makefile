# Targets for development; `make help` lists them. Only Python 3.11 or newer must be installed: uv is installed into
# .tools if it is missing, Java and Spark from PyPI.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo check lint unit test again versions sparks wheel coverage bench soak proofs delivery damage docs picture pictures matrix api kernel archive scala servers clean

UV := $(or $(shell command -v uv),.tools/bin/uv)
RUN := .venv/bin
READY := .venv/.ready
TESTS := tests examples -n 3 --dist loadfile --no-loadscope-reorder --durations=40

# The tests start hundreds of Python processes: write bytecode, and compile packages before the first test.
export PYTHONDONTWRITEBYTECODE :=
test: export UV_COMPILE_BYTECODE := 1

# Debian packages of servers that tests use, as command:package. Installed if the command is missing.
SERVERS := mariadb-install-db:mariadb-server pg_ctlcluster:postgresql openssl:openssl mosquitto:mosquitto redis-server:redis-server \
	rabbitmq-server:rabbitmq-server chromium:chromium systemd-analyze:systemd

# The other supported versions of Python.
VERSIONS := 3.12 3.13

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

demo: kernel ## run card fraud: alerts on the terminal and a live page; ends by itself in CI
	@$(RUN)/python -m examples.demo

check: $(READY) ## format, lint, types, import order, and tests without a JVM; under a minute
	@$(MAKE) --no-print-directory -j 2 --output-sync=target lint unit

lint: $(READY)
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/codespell src kernel docs examples benchmarks *.md
	$(RUN)/mypy
	$(RUN)/lint-imports

unit: $(READY)
	$(RUN)/pytest -q -n 2 -m 'not slow' tests/unit

test: $(READY) ## run all tests, as CI does
	@$(MAKE) --no-print-directory -j 2 --output-sync=line lint scala servers archive
	@$(RUN)/pytest $(TESTS) || { [ $$? = 1 ] && $(MAKE) --no-print-directory again; }

# Tests that fail beside others, on two cores with servers and browsers, run once more alone; a failure then counts.
again: $(READY)
	@failed=$$($(RUN)/python -c 'import json; print(len(json.load(open(".pytest_cache/v/cache/lastfailed"))))'); \
	echo "$$failed failed; up to 10 are run once more, alone"; [ "$$failed" -le 10 ]
	$(RUN)/pytest tests examples --last-failed --last-failed-no-failures none

versions: kernel ## run the unit tests on the other supported versions of Python that are installed
	@failed=""; report=""; \
	for version in $(VERSIONS); do \
		if ! python=$$(ls -d $(HOME)/.pyenv/versions/$$version.*/bin/python$$version 2>/dev/null | tail -1 | grep . \
			|| $(UV) python find -q --no-python-downloads --system $$version 2>/dev/null); then \
			report="$$report$$version could not run: not installed\n"; continue; \
		fi; \
		echo "$$version: $$python"; environment=.tools/tests-$$version; \
		if UV_PROJECT_ENVIRONMENT=$$environment $(UV) sync -q --locked --all-extras --python $$python \
			&& $$environment/bin/pytest -q -n 2 -m 'not slow' -p no:cacheprovider tests/unit; \
		then report="$$report$$version passed\n"; else report="$$report$$version failed\n"; failed=yes; fi; \
	done; \
	printf "$$report"; [ -z "$$failed" ]

sparks: kernel ## run the tests of semantics on Spark 4.1, 4.2 and 4.3; updates the table of the documentation
	$(RUN)/python -m tests.support.sparks run

wheel: kernel ## build dist/*.whl with a kernel jar for each supported version of Spark
	HEADRACE_BUILD_SPARKS=$$($(RUN)/python -m tests.support.sparks environments) $(RUN)/python -m hatchling build -t wheel
	$(RUN)/python -m tests.support.sparks check-wheel

coverage: kernel servers archive ## run all tests and list the lines that they do not cover
	$(RUN)/pytest $(TESTS) --cov=headrace --cov-report=term:skip-covered

bench: kernel ## compare with PySpark, Flink and others; tables and plots in benchmarks/results
	$(UV) run --locked --group bench python -m benchmarks

soak: kernel ## run every kind of step for an hour; fails if disk, heap, state or file descriptors keep growing
	$(RUN)/python -m benchmarks.soak --minutes 60

proofs: kernel servers ## run the tests that take minutes: kills on a cluster, full disks, large epochs, no Java
	$(RUN)/pytest tests -m proof

delivery: proofs ## the proofs, then kill runs and brokers many times; updates the tables of the documentation
	$(RUN)/python -m tests.simulation --histories 200000
	$(RUN)/python -m tests.simulation.mutants
	$(RUN)/python -m tests.recovery.bank
	$(RUN)/python -m tests.services.test_every_row_once
	$(RUN)/python -m tests.services.test_every_change_once
	$(RUN)/python -m tests.services.test_edge_kills --kills 50
	$(RUN)/python -m tests.services.databases.test_live_join
	$(RUN)/python -m tests.services.jobs.test_found_again 20
	$(RUN)/python -m tests.spark.code.test_worker_kills

damage: kernel ## damage every kind of file of a checkpoint; fails on wrong rows and on errors without a reason
	$(RUN)/python -m tests.recovery.damage

docs: $(READY) ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(RUN)/python -m mkdocs build --strict

picture: $(READY) ## record the demo as an SVG
	CI=1 $(RUN)/python docs/_making/picture.py docs/images/demo.svg make demo

pictures: kernel ## draw the time lines of the documentation from docs/transcripts
	$(RUN)/python docs/_making/timelines.py

matrix: kernel ## run every combination of windows and patterns on Spark; updates the matrices of the reference
	$(RUN)/python -m tests.support.matrix kernel batch spark
	$(RUN)/python -m tests.support.pattern_matrix kernel batch spark

api: $(READY) ## write the public names and signatures into tests/public_api.txt
	$(RUN)/python -m tests.support.public_api

kernel: $(READY) ## compile the Scala kernel if it has changed
	@$(RUN)/python -m headrace.spark.kernel_jar

archive: kernel ## store the classes that Spark loads for faster starts; not supported by some builds of Java
	-@$(RUN)/headrace jars archive

scala: kernel ## check the format of the Scala code and run its unit tests
	$(RUN)/python kernel/tools.py format --check
	$(RUN)/python kernel/tools.py test

servers:
	@missing=(); \
	for pair in $(SERVERS); do command -v "$${pair%%:*}" >/dev/null || missing+=("$${pair##*:}"); done; \
	if [ "$${#missing[@]}" = 0 ]; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ]; then echo "tests that need these packages will be skipped: $${missing[*]}" >&2; exit 0; fi; \
	apt-get update -qq; : "run level 1: do not start the services"; \
	RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$${missing[@]}"

clean: ## delete build outputs; keeps the download cache
	rm -rf .venv .tools dist build site htmlcov .coverage* .headrace src/headrace/jars
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(READY): pyproject.toml uv.lock hatch_build.py | $(UV)
	$(UV) sync --locked --all-extras
	@touch $@

.tools/bin/uv:
	python3 -m venv .tools || python3 -m pip install --target .tools uv
	test -x $@ || .tools/bin/python -m pip install --quiet uv
