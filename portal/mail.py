"""Letters of an installation without a mail server: one file each, for its owner's eyes alone."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.core.mail.backends.filebased import EmailBackend


class PrivateFileBackend(EmailBackend):
    """Letters hold links that let people in, so the folder is nobody else's."""

    def __init__(self, fail_silently: bool = False, **_: object) -> None:
        folder = Path(settings.EMAIL_FILE_PATH)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        super().__init__(fail_silently=fail_silently, file_path=str(folder))


def goes_to_files() -> bool:
    """Whether mail reaches nobody by itself, so that links have to be passed on by hand."""
    return settings.EMAIL_BACKEND.endswith("PrivateFileBackend")
