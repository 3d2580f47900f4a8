"""The workspace proxy: the process that serves workspaces from their own origins."""

from __future__ import annotations

import asyncio

import uvloop
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from portal.proxy.config import PORTAL_COOKIES, ProxyConfig
from portal.proxy.gatekeeper import PortalGate
from portal.proxy.server import WorkspaceProxy, serve


class Command(BaseCommand):
    help = "Serve workspaces from <label>.WORKSPACE_DOMAIN."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")

    def handle(self, *args: object, host: str, **options: object) -> None:
        house = settings.STEELYARD
        config = ProxyConfig(
            domain=str(house["WORKSPACE_DOMAIN"]),
            portal_url=str(house["PORTAL_ORIGIN"]),
            host=host,
            port=int(str(house["PROXY_PORT"])),
            https=house["WORKSPACE_SCHEME"] == "https",
            portal_cookies=PORTAL_COOKIES | {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME},
        )
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(config, PortalGate(), self._tell))

    def _tell(self, proxy: WorkspaceProxy) -> None:
        self.stdout.write(f"Workspaces are served on port {proxy.port}.")
        self.stdout.flush()
