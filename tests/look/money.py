"""Usage, the draft invoice, quotas, the audit log and tokens of one organisation."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace as Thing

from django import forms

from tests.look.samples import NOW, Context, at, usd


class TokenForm(forms.Form):
    name = forms.CharField(help_text="What will use it.")
    scopes = forms.MultipleChoiceField(
        choices=[("read", "Read"), ("workloads:write", "Launch and stop")], widget=forms.CheckboxSelectMultiple
    )
    expires = forms.ChoiceField(choices=[("30", "In 30 days"), ("90", "In 90 days")])


def _share(label: str, sub: str, hours: int, amount: str, per_mille: int) -> Thing:
    return Thing(
        label=label,
        sub=sub,
        held=timedelta(hours=hours, seconds=18),
        amount=usd(amount),
        exact=f"{amount}0137 USD",
        share=per_mille,
        url="#",
    )


def usage() -> Context:
    return {
        "month": "November 2026",
        "zone": "Europe/Berlin",
        "previous": "#",
        "next": None,
        "csv_url": "#",
        "invoice_url": "/invoice",
        "launch_url": "/launch",
        "total": usd("4182.40"),
        "total_exact": "4182.401337 USD",
        "total_held": timedelta(hours=1350, seconds=36),
        "as_of": NOW,
        "projects": [
            _share("vision", "CC-4410", 900, "3010.40", 720),
            _share("language", "CC-4412", 450, "1172.00", 280),
        ],
        "people": [_share("Alice Moreau", "", 700, "2182.40", 522), _share("Bob Lindqvist", "", 650, "2000.00", 478)],
        "sessions": [
            Thing(
                workload="segmentation-notes",
                workload_url="#",
                user="Alice Moreau",
                what="1 × H100, on demand",
                started=at(hours=4),
                ended=None,
                held=timedelta(hours=4),
                amount=usd("12.40"),
                exact="12.400021 USD",
            ),
            Thing(
                workload="sam-finetune-04",
                workload_url="#",
                user="Bob Lindqvist",
                what="8 × H100, on demand",
                started=at(days=2),
                ended=at(days=1),
                held=timedelta(days=1),
                amount=usd("595.20"),
                exact="595.2 USD",
            ),
        ],
        "page": Thing(previous=None, next="#"),
    }


def usage_empty() -> Context:
    return {**usage(), "projects": [], "people": [], "sessions": [], "total": usd("0.00"), "total_held": timedelta()}


def invoice() -> Context:
    def line(project: str, what: str, note: str, quantity: str, price: str, amount: str) -> Thing:
        return Thing(
            project=project,
            what=what,
            note=note,
            quantity=quantity,
            price=usd(price),
            per="GiB h" if what == "Disk" else "h",
            amount=usd(amount),
            exact=f"{amount}21 USD",
            url="/usage",
        )

    return {
        "month": "November 2026",
        "zone": "Europe/Berlin",
        "hours": "720",
        "organization": "Aurora",
        "as_of": NOW,
        "complete": False,
        "lines": [
            line("vision", "H100, on demand", "", "6,814.2213 h", "3.10", "21124.09"),
            line("vision", "Disk", "", "51,200.0000 GiB h", "0.00008219", "4.21"),
            line("language", "A100, on demand", "price changed", "5,768.0000 h", "1.20", "6921.60"),
            line("robots", "CPU, 4 cores", "", "12.5000 h", "0.19", "2.38"),
        ],
        "total": usd("28052.28"),
        "total_exact": "28052.280084 USD",
        "csv_url": "#",
        "usage_url": "/usage",
    }


def invoice_empty() -> Context:
    return {**invoice(), "lines": []}


def quotas() -> Context:
    holders = [
        Thing(label="sam-finetune-04", amount=6, url="#"),
        Thing(label="segmentation-notes", amount=1, url="#"),
    ]

    def quota(name: str, label: str, unit: str, limit: int, used: int, **more: object) -> Thing:
        known: dict[str, object] = {
            "id": name,
            "label": label,
            "unit": unit,
            "limit": limit,
            "least": limit + 1,
            "used": used,
            "running": used,
            "reserved": 0,
            "borrowed": 0,
            "borrow_limit": 0,
            "lend_limit": None,
            "shares": True,
            "scale": limit,
            "raised_until": None,
            "falls_to": None,
            "holders": holders if used else [],
            "edit_url": "#",
            "ask_url": "",
        }
        return Thing(**{**known, **more})

    projects = [Thing(label="vision", amount=12, url=""), Thing(label="language", amount=6, url="")]
    raised = {"raised_until": NOW + timedelta(days=3), "falls_to": 8}
    return {
        "project": "vision",
        "places": [
            Thing(
                title="Project Vision",
                aside="shared by all who work in it",
                decides="An owner or admin of the organisation decides.",
                quotas=[
                    quota("workloads", "Workloads", "", 10, 4, reserved=1, running=3),
                    quota("h100", "H100", "devices", 8, 12, running=12, borrowed=4, borrow_limit=4, scale=12),
                    quota("vcpus", "vCPU", "", 256, 234, ask_url="#", edit_url="", **raised),
                    quota("memory", "Memory", "GiB", 2048, 2048, lend_limit=512),
                    quota("storage", "Storage", "GiB", 2000, 0, edit_url=""),
                ],
            ),
            Thing(
                title="Organisation Aurora",
                aside="never passed, whatever stands below",
                decides="The platform's administrator decides.",
                quotas=[quota("top", "H100", "devices", 24, 18, edit_url="", ask_url="#", holders=projects)],
            ),
        ],
        "requests": [
            Thing(
                place="vision",
                label="H100",
                before=8,
                limit=16,
                until=NOW + timedelta(days=14),
                why="Eight more for the benchmark of the new encoder, until the paper is out.",
                who="alice@aurora.example",
                at=NOW - timedelta(hours=2),
                tone="wait",
                word="waits",
            )
        ],
        "inbox_url": "#",
        "define": {"url": "#", "places": [("project:1", "Project Vision")], "resources": ["vcpus"]},
    }


def _event(number: int, actor: str, verb: str, thing: str, outcome: str, tone: str, **more: object) -> Thing:
    rest: dict[str, object] = {
        "changes": [],
        "reason": "",
        "actor_note": "",
        "object_url": "#",
        "source": "portal",
        "address": "192.0.2.17",
    }
    return Thing(
        id=str(number),
        url="/audit-event",
        at=at(minutes=number),
        actor=actor,
        verb=verb,
        object=thing,
        outcome=outcome,
        tone=tone,
        **{**rest, **more},
    )


_CHANGE = [Thing(field="limit", before="8", after="16")]


def audit() -> Context:
    view = Thing(id="1", name="Denials this month", url="#", shared=True, remove_url="#")
    return {
        "zone": "Europe/Berlin",
        "page": Thing(previous=None, next="#"),
        "verbs": ["workload.*", "workload.launched"],
        "outcomes": [Thing(value="denied", label="denied")],
        "sources": ["api", "portal"],
        "chosen": {"verb": "workload.*", "object_kind": "workload"},
        "kept": "{}",
        "narrowed": True,
        "manages": True,
        "save_url": "#",
        "list_url": "/audit",
        "clear_url": "/audit",
        "streams_url": "/audit-streams",
        "keeping_url": "/audit-keeping",
        "views": [view, Thing(id="2", name="Bob", url="#", shared=False, remove_url="#")],
        "exports": [Thing(label="CSV", url="#"), Thing(label="JSON Lines", url="#")],
        "events": [
            _event(1, "Alice Moreau", "workload.launched", "vision/segmentation-notes", "done", "good"),
            _event(
                2,
                "Steelyard",
                "workload.running",
                "vision/segmentation-notes",
                "done",
                "good",
                actor_note="reconciler",
                source="system",
                address="",
            ),
            _event(3, "Dora Weiss", "quota.limit_set", "vision, H100", "done", "good", changes=_CHANGE),
            _event(
                4,
                "Pat Ops",
                "workload.deleted",
                "vision/sam-finetune-04",
                "denied",
                "bad",
                actor_note="for Bob Lindqvist",
                reason="Needs workload.delete in vision.",
                source="api",
            ),
        ],
    }


def audit_event() -> Context:
    return {
        "entry": _event(3, "Dora Weiss", "quota.limit_set", "quota H100", "done", "good", changes=_CHANGE),
        "row": Thing(
            pk="01a22e5b-bab7-7521-a3e2-3a808dc25b29",
            act_id="01a22e5b-bab7-7521-a3e2-3a808dc25b28",
            seq=4711,
            actor_kind="user",
            token_id="01a22e5b-bab7-7521-a3e2-3a808dc25b27",
            object_kind="quota",
            object_id="01a22e5b-bab7-7521-a3e2-3a808dc25b26",
            object_label="H100",
            source_kind="portal",
            source_address="192.0.2.17",
            request_id="01a22e5b-bab7-7521-a3e2-3a808dc25b25",
        ),
        "sealed": {"hash": "9f" * 32, "previous": "07" * 32},
        "reason": {},
        "list_url": "/audit",
        "object_log_url": "#",
        "actor_log_url": "#",
        "request_log_url": "#",
        "zone": "Europe/Berlin",
    }


def audit_event_denied() -> Context:
    denied = _event(
        4, "Bob Lindqvist", "workload.deleted", "workload sam", "denied", "bad", reason="This needs operate_workload."
    )
    return {**audit_event(), "entry": denied, "sealed": None, "reason": {"ask": "an owner of the organisation"}}


def audit_empty() -> Context:
    return {**audit(), "events": [], "views": [], "page": None}


def tokens() -> Context:
    return {
        "form": TokenForm(),
        "create_url": "#",
        "secret": "sy_pat_9gq2mX4tK7vRr1zB8wYc3nLd",
        "docs_url": "#",
        "tokens": [
            Thing(
                id="1",
                name="laptop",
                prefix="sy_pat_9gq2",
                scopes=["read", "workloads:write"],
                expires_at=at(days=-30),
                last_used_at=at(minutes=9),
                revoke_url="#",
            ),
            Thing(
                id="2",
                name="nightly export",
                prefix="sy_pat_b71k",
                scopes=["read"],
                expires_at=at(days=-80),
                last_used_at=None,
                revoke_url="#",
            ),
        ],
    }


def tokens_empty() -> Context:
    return {**tokens(), "tokens": [], "secret": ""}
