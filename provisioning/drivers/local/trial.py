"""Try whether this machine lets us give a workload a view of its own. Standard library only."""

from __future__ import annotations

import os
import sys
import tempfile

from provisioning.drivers.local import view


def main() -> int:
    with tempfile.TemporaryDirectory() as root:
        view.unshare(view.CLONE_NEWPID)
        child = os.fork()
        if child == 0:
            _enter_and_leave(root)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _enter_and_leave(root: str) -> None:
    """Never returns; exits with 0 where every step worked."""
    try:
        view.enter(view.View(root=root, readable=(), writable=(), files=(), hidden=()))
    except OSError:
        os._exit(1)
    os._exit(0 if os.getpid() == 1 and os.path.exists("/proc/1/stat") else 1)


if __name__ == "__main__":
    sys.exit(main())
