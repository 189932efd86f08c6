# The two commands of a newcomer are `make run` and `make test`; both prepare everything first.

VENV := .venv
STUDY ?= studies/rep-vs-unrolled.toml

.DEFAULT_GOAL := help
.PHONY: help setup run test lint format bench lock clean

help: ## say what can be made
	@sed -n 's/^\([a-z]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="	" read -r target text; do \
		printf '  make %-8s %s\n' "$$target" "$$text"; done

setup: ## install what is missing, and leave .venv/bin/memstrat
	@bash tools/setup.sh

run: setup ## run the default study, or STUDY=path
	$(VENV)/bin/memstrat run $(STUDY)

test: lint ## check the style and the types, and run every test
	$(VENV)/bin/python -m pytest

lint: setup ## check the style and the types only
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/shellcheck tools/*.sh .ci/run

format: setup ## let ruff repair what it can
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

bench: setup ## run the comparisons in bench/
	@for script in bench/*.py; do echo "$$script"; $(VENV)/bin/python "$$script" || exit 1; done

lock: setup ## pin the newest dependencies in requirements.txt
	@bash tools/lock.sh

clean: ## remove .venv, caches and what was built; results stay
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -path ./.git -prune -o -name __pycache__ -type d -exec rm -rf {} +
