"""Made-up context for each page: what its template expects, filled with a plausible day of one organisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace as Thing

from django import forms

from core.money import Money

Context = Mapping[str, object]

NOW = datetime(2026, 11, 30, 12, 58, 12, 345678, tzinfo=UTC)
NAMED_ROUTES = (
    "account_login",
    "sso-start",
    "account_logout",
    "account_change_password",
    "account_set_password",
    "account_reset_password",
    "account_reauthenticate",
    "usersessions_list",
)


@dataclass(frozen=True, slots=True)
class Sample:
    template: str
    context: Callable[[], Context] = dict
    status: int = 200


def usd(amount: str) -> Money:
    return Money(Decimal(amount), "USD")


def at(*, days: int = 0, hours: int = 0, minutes: int = 0, seconds: int = 0) -> datetime:
    return NOW - timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def shell(current: str) -> Thing:
    def item(label: str, name: str, *, count: int | None = None, icon: str = "") -> Thing:
        return Thing(label=label, url=f"/{name}", count=count, icon=icon, current=current == name)

    work = [
        item("Home", "home", icon="house"),
        item("Workloads", "workloads", count=4, icon="monitor-play"),
        item("Disks", "volumes", icon="hard-drive"),
    ]
    money = [item("Usage", "usage", icon="chart-column"), item("Invoice", "invoice")]
    organization = [item("Quotas", "quotas"), item("Audit", "audit"), item("Tokens", "tokens")]
    return Thing(
        person=Thing(name="Alice Moreau", initials="AM", email="alice@aurora.example"),
        organization=Thing(name="Aurora", slug="aurora"),
        organizations=[
            Thing(name="Aurora", slug="aurora", switch_url="#"),
            Thing(name="Borealis", slug="borealis", switch_url="#"),
        ],
        project=Thing(name="vision", slug="vision"),
        projects=[Thing(name=name, slug=name, switch_url="#") for name in ("vision", "language", "robots")],
        navigation=[
            {"title": "Work", "items": work},
            {"title": "Money", "items": money},
            {"title": "Organisation", "items": organization},
        ],
        notice="Not isolated: evaluation only. Accelerators are simulated; the work runs on the CPU.",
    )


class SignIn(forms.Form):
    login = forms.EmailField(label="E-mail", widget=forms.EmailInput(attrs={"autocomplete": "email"}))
    password = forms.CharField(widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}))
    remember = forms.BooleanField(label="Keep me signed in here", required=False)


class NewPassword(forms.Form):
    password1 = forms.CharField(
        label="New password", widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )
    password2 = forms.CharField(label="Once more", widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}))


class Everything(forms.Form):
    name = forms.CharField(help_text="Lower case, digits and hyphens; unique in the project.")
    note = forms.CharField(required=False, widget=forms.Textarea)
    image = forms.ChoiceField(choices=[("torch", "PyTorch 2.9, CUDA 13"), ("base", "Python 3.13")])
    keep = forms.BooleanField(label="Keep the disk", required=False, help_text="Billed while it is kept.")
    stops = forms.ChoiceField(
        choices=[("idle", "After 60 min idle"), ("hand", "Only by hand")], widget=forms.RadioSelect
    )

    def clean(self) -> None:
        raise forms.ValidationError("The name is taken and the disk is full.")


def kitchen() -> Context:
    return {
        "amount": usd("12.43"),
        "exact": "12.4311712 USD",
        "price": usd("0.0041"),
        "now": NOW,
        "span": timedelta(hours=4, seconds=18),
        "form": Everything({"name": "", "image": "torch", "stops": "idle"}),
        "disk_errors": ["A disk has at most 2,000 GiB here."],
        "trail": [Thing(label="Home", url="/home")],
        "holders": [
            Thing(label="sam-finetune-04", amount=8, url="#"),
            Thing(label="segmentation-notes", amount=1, url="#"),
        ],
        "page": Thing(previous="#", next="#"),
    }


def sign_in() -> Context:
    return {"form": SignIn(), "redirect_field": ""}


def sign_in_refused() -> Context:
    form = SignIn({"login": "alice@aurora", "password": ""})
    form.add_error(None, "The e-mail address or the password is wrong.")
    return {"form": form, "redirect_field": ""}


def new_password() -> Context:
    return {"form": NewPassword(), "action_url": "#", "redirect_field": ""}


def sessions() -> Context:
    browsers = ("Firefox 146, Linux", "Safari 26, iPhone")
    return {
        "show_last_seen_at": True,
        "session_count": 2,
        "sessions": [
            Thing(
                user_agent=name,
                ip="192.0.2.17",
                created_at=at(days=index),
                last_seen_at=at(minutes=index),
                is_current=index == 0,
            )
            for index, name in enumerate(browsers)
        ],
    }


def refused() -> Context:
    return {
        "status": 409,
        "sentences": ["4 H200 GPUs over (0 used + 8 asked > 4).", "Ask an owner of the organisation."],
        "back": "/launch",
    }
