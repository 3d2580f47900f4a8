"""The data plane as a process of its own, with one workspace: `python -m tests.proxy.standalone '{"unix_socket": …}'`.

Prints the port it listens on to standard error; the access log goes to standard output.
"""

from __future__ import annotations

import json
import sys

import uvloop

from portal.proxy.config import Clocks, ProxyConfig
from portal.proxy.gate import Upstream
from portal.proxy.server import WorkspaceProxy, serve
from tests.proxy.memory_gate import MemoryGate

LABEL = "alpha"
COOKIE = "good-cookie"


def announce(proxy: WorkspaceProxy) -> None:
    print(proxy.port, file=sys.stderr, flush=True)


def main(where: str) -> None:
    gate = MemoryGate()
    gate.let_in(LABEL, COOKIE, Upstream(pass_key="", **json.loads(where)))
    config = ProxyConfig(
        domain="localhost", portal_url="http://portal.test:8000", port=0, clocks=Clocks(drain=3.0, recheck=1.0)
    )
    uvloop.run(serve(config, gate, announce))


if __name__ == "__main__":
    main(sys.argv[1])
