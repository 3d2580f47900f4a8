"""Bytes to be saved, whatever they are: no browser shows them as a page of ours."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

BYTES = "application/octet-stream"


def saved_as(name: str, pieces: Iterable[bytes], *, size: int) -> StreamingHttpResponse:
    response = StreamingHttpResponse(pieces, content_type=BYTES)
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name) or "attachment"
    response["Content-Length"] = str(size)
    response["Cache-Control"] = "private, no-store"
    response["X-Content-Type-Options"] = "nosniff"
    return response
