# Each target installs into .venv what it needs, once. On Windows: py bootstrap.py TARGET
PYTHON ?= python3
ARGS ?=

help:
	@echo "make install          install what running needs into .venv"
	@echo "make run              open the page               (ARGS=\"--port 7861\")"
	@echo "make demo             swap the sample faces into outputs/demo"
	@echo "make test             run the tests               (ARGS=\"tests/steps -x\")"
	@echo "make check            lint, formatting, types"
	@echo "make gpu              run the tests that need a graphics card"
	@echo "make bench            time the stages of a swap"

install run demo test gpu check bench:
	@$(PYTHON) bootstrap.py $@ $(ARGS)

.PHONY: help install run demo test gpu check bench
# two at once would install into one .venv
.NOTPARALLEL:
