from __future__ import annotations


class CannotStart(Exception):
    """Why the platform cannot start, in one line for the person at the terminal."""
