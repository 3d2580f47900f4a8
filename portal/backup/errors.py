from __future__ import annotations


class CannotBackUp(Exception):
    """Why there is no backup, in one line for the person at the terminal."""


class CannotRestore(Exception):
    """Why nothing was restored, in one line for the person at the terminal."""
