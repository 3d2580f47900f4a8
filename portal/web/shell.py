"""What the frame of every page shows."""

from __future__ import annotations

from django.http import HttpRequest


def shell(request: HttpRequest) -> dict[str, object]:
    return {"shell": None}
