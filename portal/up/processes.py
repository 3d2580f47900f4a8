"""What the operating system offers to keep children from outliving us."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def end_with_parent(polite: signal.Signals) -> Callable[[], None]:
    """For `preexec_fn`: the kernel sends `polite` to the child when we die, even by kill -9. Linux only."""
    if not sys.platform.startswith("linux"):
        return _nothing
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def ask_kernel() -> None:
        prctl(_PR_SET_PDEATHSIG, int(polite), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return ask_kernel


def _nothing() -> None:
    return None


def adopt_orphans() -> None:
    """Descendants whose starter ended (workspaces) become our children, so that none stays a zombie. Linux only."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
