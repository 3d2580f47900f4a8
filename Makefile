# Two commands matter: `make up` runs the platform, `make test` runs the tests. Both make their own environment first.

.PHONY: up test check bench fmt install install-test

up: install
	@.venv/bin/python manage.py up

test: install-test
	@sh scripts/test $(ARGS)

check: install-test
	@sh scripts/check

bench: install-test
	@.venv/bin/python -m bench $(ARGS)

fmt: install-test
	@.venv/bin/ruff check --fix --quiet . && .venv/bin/ruff format --quiet .

install:
	@sh scripts/bootstrap .venv run && sh scripts/bootstrap .venv-workspace workspace
	@mkdir -p .venv-workspace/etc/jupyter && cp -R requirements/jupyter/. .venv-workspace/etc/jupyter

install-test: install
	@sh scripts/bootstrap .venv test
