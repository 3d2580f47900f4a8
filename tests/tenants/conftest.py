from __future__ import annotations

import pytest
from aiosmtpd.controller import Controller

from portal.up.ports import free_port


class Letterbox:
    """A mail server's inside: keeps what it takes, and refuses as often as it is told to."""

    def __init__(self):
        self.letters, self.refuse = [], 0

    async def handle_DATA(self, server, session, envelope):
        if self.refuse:
            self.refuse -= 1
            return "451 Not now"
        self.letters.append(envelope)
        return "250 OK"


@pytest.fixture
def letterbox(settings):
    box = Letterbox()
    server = Controller(box, hostname="127.0.0.1", port=free_port())
    server.start()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = server.hostname, server.port
    settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
    yield box
    server.stop()
