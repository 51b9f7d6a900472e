# The two commands of the README are `make demo` and `make test`; every target sets up what it needs.
PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
MIRROR := $(realpath ../shared/data)
CHROMIUM := chromium chromium-driver
FUZZ_SECONDS ?= 600

ifneq ($(MIRROR),)
export GPCN_MIRROR ?= $(MIRROR)
endif

KILLS ?= 100
GOLDEN ?= golden/$(shell git rev-parse --short=10 HEAD)

.PHONY: demo test browser accuracy kills kills-cluster two-hosts bench-scale reproduce lint types format fuzz bench bench-jobs bench-search bench-bandwidth bench-both-ways bench-tables bench-limits bench-portfolio bench-auto golden docs docs-data clean
.DEFAULT_GOAL := demo

$(STAMP): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "gpcn needs Python 3.11; name yours with: make PYTHON=/path/to/python"; exit 1; }
	@echo "setting up $(VENV) (the first time takes a few minutes)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt torch
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".[dev,docs]"
	@touch $@

demo: $(STAMP)  ## the main job on the embedded default: a synthetic graph
	@$(BIN)/gpcn demo

test: $(STAMP) browser  ## the whole test suite
	$(BIN)/python -m pytest -n 2 --dist worksteal

browser:  ## Chromium for the tests of the report, where it is missing and can be installed
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	     && { timeout 300 apt-get install -y -qq $(CHROMIUM) || { timeout 100 apt-get update -qq \
	          && timeout 300 apt-get install -y -qq $(CHROMIUM); }; } >/dev/null 2>&1; } \
	|| echo "no chromium here, and it cannot be installed: the browser tests will be skipped"

fuzz: $(STAMP)  ## a coverage-guided fuzzer on all readers of files, ten minutes (FUZZ_SECONDS=60 for one, FUZZ_KIND=both_ways for one reader)
	@$(BIN)/python -c "import atheris" 2>/dev/null \
	|| $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e ".[fuzz]"
	PYTHONPATH=. $(BIN)/python -m tests.fuzz $(FUZZ_SECONDS) $(FUZZ_KIND)

accuracy: $(STAMP)  ## the paper's hyperparameters on all official splits (a few minutes)
	$(BIN)/python -m pytest -m slow --ignore tests/distributed

kills-cluster: $(STAMP)  ## ten SIGKILLs of workers and drivers over one training on a Ray cluster, and every other fault (ten minutes)
	$(BIN)/python -m pytest -m slow tests/distributed

two-hosts: $(STAMP)  ## training over two network namespaces, one of which is taken away (as root; five minutes); into docs/scale.md
	$(BIN)/python -m tests.distributed.two_hosts --save

bench-scale: $(STAMP)  ## graphs in parts: peak memory, seconds and bytes of 1 to 8 million nodes (hours; stop and resume)
	$(BIN)/python -W ignore benchmarks/scale.py --save
	$(BIN)/python -W ignore benchmarks/memory_limit.py --save

kills: $(STAMP)  ## SIGKILLs at random moments of seven commands (KILLS=100, an hour); what was found into docs/reliability.md
	$(BIN)/python -m tests.faults.kills --count $(KILLS) --save

reproduce: $(STAMP)  ## every table and ablation of the paper into results/ and docs/results.md (hours; stop and resume)
	$(BIN)/gpcn reproduce all --results results
	$(BIN)/python -W ignore benchmarks/reproduction.py --save
	$(BIN)/python docs/generate.py

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)  ## one training epoch side by side with the alternatives (about 15 minutes)
	$(BIN)/python -W ignore benchmarks/epoch.py --save
	$(BIN)/python docs/generate.py speed
	$(BIN)/python -W ignore benchmarks/protocol.py --save

bench-bandwidth: $(STAMP)  ## memory bandwidth of every kernel against a copy, node orders, replicas side by side (about 4 minutes)
	$(BIN)/python -W ignore benchmarks/bandwidth.py --save
	$(BIN)/python -W ignore benchmarks/side_by_side.py --save

bench-jobs: $(STAMP)  ## whole commands against an earlier commit, wall-clock (about 10 minutes)
	$(BIN)/python -W ignore benchmarks/jobs.py --save

bench-both-ways: $(STAMP)  ## committed cells of the family trained again with the code as it is (about 25 minutes; stop and resume)
	$(BIN)/python -W ignore benchmarks/both_ways.py --save

bench-search: $(STAMP)  ## a search side by side with the obvious loop (about 45 minutes; each row is kept as it comes)
	$(BIN)/python -W ignore benchmarks/search.py --save

bench-tables: $(STAMP)  ## messy tables beside boosted trees, and the time to read tables (about 15 minutes; stop and resume)
	$(BIN)/python -W ignore benchmarks/tables.py --save
	$(BIN)/python -W ignore benchmarks/import.py --save

bench-limits: $(STAMP)  ## memory and seconds of whole commands at 10,000 to a million nodes (about 40 minutes; stop and resume)
	$(BIN)/python -W ignore benchmarks/limits.py --save

bench-portfolio: $(STAMP)  ## what auto tries first, evaluated on nineteen graphs and put together (hours; stop and resume)
	$(BIN)/python -W ignore benchmarks/portfolio.py evaluate
	$(BIN)/python -W ignore benchmarks/portfolio.py build --out src/gpcn/search/auto/portfolio.json

bench-auto: $(STAMP)  ## auto on nineteen graphs, two splits, each left out of its portfolio, five minutes and one core each (four hours; resumable)
	$(BIN)/python -W ignore benchmarks/auto.py --jobs 1 --splits 0,1
	$(BIN)/python -W ignore benchmarks/auto.py --jobs 1 --splits 0,1 --defaults
	$(BIN)/python docs/generate.py results

golden: $(STAMP)  ## what every model and command gives, into golden/COMMIT, to compare commits to the bit (four minutes; stop and resume)
	$(BIN)/python benchmarks/golden.py record --out $(GOLDEN)

docs: $(STAMP)  ## docs/ as a static site in site/; any warning ends it
	$(BIN)/zensical build --strict

docs-data: $(STAMP)  ## tables and pictures of README and docs, from real output
	$(BIN)/python docs/generate.py

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache
