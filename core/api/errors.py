"""Errors of the API's own machinery."""

from __future__ import annotations

from core.errors import SteelyardError


class TooLarge(SteelyardError):
    code = "body_too_large"


class TooManyRequests(SteelyardError):
    code = "too_many_requests"

    def __init__(self, message: str, *, retry_after_seconds: int) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds
