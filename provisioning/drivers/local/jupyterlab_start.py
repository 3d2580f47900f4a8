"""Starts JupyterLab in a workspace: `python -E -c THIS_TEXT OPTION …`. Standard library only.

jsonschema imports the check of international addresses, which builds forty parsers as it is imported: more than half
of a server's whole start, for a check that a notebook server hardly ever makes. Here it waits until it is asked.
"""

from __future__ import annotations

import importlib
import importlib.util
import runpy
import sys
import types

SLOW = "rfc3987_syntax"


class ImportedWhenAsked(types.ModuleType):
    """Stands in the slow module's place until somebody checks an address."""

    def is_valid_syntax(self, term: str, text: str) -> bool:
        if sys.modules.get(SLOW) is self:
            del sys.modules[SLOW]
        return bool(importlib.import_module(SLOW).is_valid_syntax(term, text))


def put_off() -> None:
    if importlib.util.find_spec(SLOW) is not None:
        sys.modules[SLOW] = ImportedWhenAsked(SLOW)


if __name__ == "__main__":
    put_off()
    runpy.run_module("jupyterlab", run_name="__main__", alter_sys=True)
