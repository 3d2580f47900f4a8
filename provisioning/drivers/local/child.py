"""The side of the fork that becomes the server. Standard library only.

In a namespace the first process stays as a small init: it ends with its keeper, brings up the
server, reaps, and gives what outlives the server a moment to end by itself. The kernel ends the
rest with it, whatever it did to escape.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import time

from provisioning.drivers.local import limits, view
from provisioning.drivers.local.order import NAMESPACE, Order

FAILED_BEFORE_SERVER = 126
OPEN_FILES = 65_536


def become(order: Order, cgroups: tuple[str, ...], *, go: int, failure: int, log: int) -> None:
    """Never returns. Waits for `go`; what goes wrong before the server runs is told to `failure`."""
    try:
        view.control(view.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.read(go, 1) != b"!":
            os._exit(FAILED_BEFORE_SERVER)
        os.close(go)
        limits.enter(cgroups)
        os.setsid()
        os.umask(0o022)
        _redirect(log)
        if order.kind == NAMESPACE:
            view.enter(order.view)
            _run_below_init(order, failure)
        else:
            _execute(order)
    except BaseException as error:  # the only way out is the message and the exit
        with contextlib.suppress(OSError):
            os.write(failure, _sentence(order, error).encode()[:1000])
    finally:
        os._exit(FAILED_BEFORE_SERVER)


def _run_below_init(order: Order, failure: int) -> None:
    server = os.fork()
    if server == 0:
        os.setsid()
        view.control(view.PR_SET_PDEATHSIG, signal.SIGKILL)
        _execute(order)
    os.close(failure)
    while True:
        pid, status = os.wait()
        if pid == server:
            break
    _say_farewell(order.farewell_s)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _say_farewell(seconds: float) -> None:
    """Ask whatever is left in the namespace to end, and wait a moment."""
    deadline = time.monotonic() + seconds
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGTERM)
        while time.monotonic() < deadline:
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            os.kill(-1, 0)
            time.sleep(0.02)


def _execute(order: Order) -> None:
    """Become the workload's user without any privilege, then the server."""
    if order.uid is not None:
        os.setgroups([])
        os.setresgid(order.uid, order.uid, order.uid)
        os.setresuid(order.uid, order.uid, order.uid)
        view.control(view.PR_SET_PDEATHSIG, signal.SIGKILL)
    view.control(view.PR_SET_NO_NEW_PRIVS, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    allowed = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, allowed))
    os.chdir(order.folder)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    os.execve(  # noqa: S606
        order.command[0], list(order.command), order.environment
    )


def _redirect(log: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    for number in (1, 2):
        os.dup2(log, number)


def _sentence(order: Order, error: BaseException) -> str:
    return f"{order.command[0]} could not be started: {error}"
