"""What stands around the audit log: its streams, its proof, how long it is kept."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace as Thing

from django import forms

from tests.look.samples import NOW, Context, at


class StreamForm(forms.Form):
    name = forms.CharField(max_length=80, help_text="What receives it.")
    url = forms.CharField(label="Address", help_text="https://…")
    from_start = forms.BooleanField(required=False, label="Send the whole log")


def _stream(number: int, name: str, word: str, tone: str, **more: object) -> Thing:
    rest: dict[str, object] = {
        "url": f"https://{name.lower()}.example.com/in",
        "reason": "",
        "behind": 0,
        "delivered_at": at(seconds=40),
        "retry_at": None,
        "enabled": True,
        "works": True,
        "two_secrets_until": None,
        "urls": dict.fromkeys(("change", "switch", "rotate", "test", "remove"), "#"),
    }
    return Thing(id=str(number), name=name, word=word, tone=tone, **{**rest, **more})


def streams() -> Context:
    return {
        "manages": True,
        "form": StreamForm(),
        "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "list_url": "/audit",
        "streams_url": "/audit-streams/rows",
        "new_url": "#",
        "streams": [
            _stream(1, "SIEM", "Up to date", "good", two_secrets_until=NOW + timedelta(hours=20)),
            _stream(
                2,
                "Lake",
                "Trying again",
                "wait",
                reason="lake.example.com answered 503.",
                behind=214,
                retry_at=NOW + timedelta(minutes=4),
            ),
            _stream(
                3,
                "Archive",
                "Paused",
                "bad",
                reason="Nothing was taken for 3 days. There is no host archive.example.com.",
                behind=8120,
                works=False,
                delivered_at=None,
            ),
        ],
    }


def streams_empty() -> Context:
    return {**streams(), "streams": [], "secret": ""}


def keeping() -> Context:
    return {
        "head": 48_211,
        "anchor": {"seq": 48_100, "at": at(hours=5)},
        "cut": Thing(seq=1200, cut_at=at(days=20)),
        "keys": ["4f" * 32],
        "keep_days": 400,
        "shortest": 30,
        "manages": True,
        "list_url": "/audit",
        "export_url": "#",
        "verifier_url": "#",
        "set_url": "#",
    }
