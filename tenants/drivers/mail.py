"""Letters, in HTML and text, handed to the mail server that the installation names. Called outside any transaction."""

from __future__ import annotations

import smtplib
from collections.abc import Mapping
from dataclasses import dataclass

from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string

from core.names import one_line


class NotSent(Exception):
    """The mail server did not take a letter. The text is fit to be shown: it holds neither addresses nor secrets."""


@dataclass(frozen=True, slots=True)
class Letter:
    """`template` names `email/<template>.txt` and `.html`. `key`: the same letter bears the same Message-ID again."""

    to: str
    subject: str
    template: str
    context: Mapping[str, object]
    key: str


def send(letter: Letter) -> None:
    """Raises NotSent. A letter that was taken twice is one by its Message-ID."""
    context = dict(letter.context)
    message = EmailMultiAlternatives(
        subject=one_line(letter.subject),
        body=render_to_string(f"email/{letter.template}.txt", context),
        to=[letter.to],
        headers={
            "Message-ID": f"<{letter.key}@steelyard>",
            "Auto-Submitted": "auto-generated",
        },
    )
    message.attach_alternative(render_to_string(f"email/{letter.template}.html", context), "text/html")
    try:
        message.send()
    except smtplib.SMTPRecipientsRefused:
        raise NotSent("The mail server refused the address.") from None
    except smtplib.SMTPResponseException as error:
        raise NotSent(f"The mail server answered {error.smtp_code}.") from None
    except (smtplib.SMTPException, OSError) as error:
        raise NotSent(f"The mail server could not be reached ({type(error).__name__}).") from None
