"""Typst sets a document as PDF/A-3b. The same content gives the same bytes: fonts are the wheel's own, the clock is
the document's."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Literal

import structlog
import typst

from core.types import Json

log = structlog.get_logger(__name__)
_SOURCE = Path(__file__).with_name("document.typ")


def pdf(said: dict[str, Json], *, at: datetime, attached: bytes) -> bytes:
    """`said`: what `invoicing.presented` says. `at`: the time that the file bears. `attached`: the same for machines.

    Letters that the fonts lack are no PDF/A: such a document is set as plain PDF, and shows boxes in their place.
    """
    try:
        return _set(said, at, attached, "a-3b")
    except typst.TypstError as error:
        log.warning("not_archivable", title=str(said["title"]), error=str(error))
        return _set(said, at, attached, "1.7")


def _set(said: dict[str, Json], at: datetime, attached: bytes, standard: Literal["a-3b", "1.7"]) -> bytes:
    return typst.compile(
        str(_SOURCE),
        format="pdf",
        ignore_system_fonts=True,
        sys_inputs={
            "document": json.dumps(said, ensure_ascii=False, sort_keys=True),
            "attached": attached.decode(),
        },
        pdf_standards=standard,
        timestamp=int(at.timestamp()),
    )
