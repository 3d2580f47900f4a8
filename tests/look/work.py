"""Workspaces and disks of a plausible afternoon."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace as Thing

from django import forms

from portal.web.workloads.launch_form import PLAIN, LaunchForm
from tests.look.samples import NOW, Context, at, usd

_LOG = """[I 13:58:10 ServerApp] Serving notebooks from local directory: /home/alice
[I 13:58:11 LabApp] JupyterLab extension loaded
[I 13:58:12 ServerApp] Kernel started: python3"""


def _launch_form(**changes: str) -> LaunchForm:
    values = {"kind": "workspace", "project": "aurora/vision", "image": "lab", "name": "notebook-3", "disk_gib": "50"}
    form = LaunchForm(values | {"workers": "1", "retries": "0", "success_codes": "0", "shape": "h100-1"} | changes)
    choices = {"project": [("aurora/vision", "vision")], "image": [("lab", "JupyterLab 4.6, Python 3.11")]}
    for name, options in choices.items():
        field = form.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = options
    return form


def _kinds(chosen: str) -> list[Thing]:
    rows = (("workspace", "Workspace", "notebook-3"), ("job", "Training job", "job"))
    return [
        Thing(value=value, title=title, detail="", checked=value == chosen, disabled=False, proposes=name)
        for value, title, name in rows
    ]


def _quotas() -> list[Thing]:
    holders = [Thing(label="sam-finetune-04", amount=8, url="#"), Thing(label="segmentation-notes", amount=1, url="#")]
    return [
        Thing(label="H100", unit="", used=9, limit=16, asked=1, holders=holders),
        Thing(label="vCPU", unit="", used=234, limit=256, asked=26, holders=[]),
        Thing(label="Storage", unit="GiB", used=1948, limit=2000, asked=50, holders=[]),
    ]


def _rows() -> list[Thing]:
    shared = {
        "url": "/workload",
        "kind": "Workspace",
        "owner": "Alice Moreau",
        "project": "vision",
        "reason": "",
        "simulated": True,
    }
    return [
        Thing(
            id="1",
            name="segmentation-notes",
            shape="1 × H100 80 GB",
            tone="good",
            word="Running",
            cost=usd("12.43"),
            cost_exact="12.4311712 USD",
            stops_at=at(hours=-5),
            stops_why="if idle; kernel busy 2 min ago",
            **shared,
        ),
        Thing(
            id="2",
            name="sam-finetune-04",
            shape="8 × H100, one host",
            tone="good",
            word="Running",
            cost=usd("402.10"),
            cost_exact="402.1000412 USD",
            stops_at=None,
            stops_why="",
            **shared,
        ),
        Thing(
            id="3",
            name="sweep-lr",
            shape="4 × A100 80 GB",
            tone="wait",
            word="Queued",
            cost=None,
            cost_exact="",
            stops_at=None,
            stops_why="",
            **{**shared, "reason": "Waits for 4 A100; 2 are free. Second of four."},
        ),
        Thing(
            id="4",
            name="old-baseline",
            shape="1 × L4",
            tone="bad",
            word="Failed",
            cost=usd("0.02"),
            cost_exact="0.0212 USD",
            stops_at=None,
            stops_why="",
            **{**shared, "reason": "JupyterLab ended with code 1 before it answered."},
        ),
        Thing(
            id="5",
            name="paper-figures-for-the-workshop-in-november",
            shape="CPU, 4 cores",
            tone="off",
            word="Stopped",
            cost=usd("1.90"),
            cost_exact="1.9 USD",
            stops_at=None,
            stops_why="",
            **{**shared, "simulated": False},
        ),
    ]


def home() -> Context:
    return {
        "greeting": "Good afternoon, Alice",
        "summary": "Two workspaces run, one waits. One has failed: old-baseline.",
        "launch_url": "/launch",
        "running": 2,
        "rate": usd("27.90"),
        "month": "November",
        "month_cost": usd("4182.40"),
        "month_exact": "4182.401337 USD",
        "stopped": 1,
        "stopped_rate": usd("0.0041"),
        "rows": _rows(),
        "rows_url": "/workloads/rows",
        "quota_project": "vision",
        "quotas": _quotas(),
    }


def home_empty() -> Context:
    quiet = {"summary": "Nothing runs, nothing costs.", "running": 0, "rate": None, "rows": [], "quotas": []}
    return {**home(), **quiet, "month_cost": usd("0.00"), "month_exact": "0 USD", "stopped": 0, "stopped_rate": None}


def workloads() -> Context:
    return {
        "summary": "2 of 5 run, at $27.90 / h.",
        "rows": _rows(),
        "rows_url": "/workloads/rows",
        "launch_url": "/launch",
        "page": Thing(previous=None, next="#"),
        "filters": Thing(
            projects=[Thing(slug="vision", name="vision")],
            kinds=[Thing(value="workspace", label="Workspaces"), Thing(value="job", label="Jobs")],
            states=[Thing(value="running", label="Running")],
        ),
        "chosen": Thing(project="vision", kind="", state=""),
    }


def workloads_empty() -> Context:
    return {**workloads(), "rows": [], "summary": "", "page": None}


def _shapes() -> list[Thing]:
    rows = [
        ("cpu-4", "CPU, 4 cores", "16 GiB memory", "0.19", ""),
        ("l4-1", "1 × L4", "24 GB · 8 cores · 32 GiB", "0.71", ""),
        ("h100-1", "1 × H100", "80 GB · 26 cores · 200 GiB", "3.10", ""),
        ("h100-1-spot", "1 × H100, spot", "80 GB · 26 cores · 200 GiB", "1.24", ""),
        ("h100-4", "4 × H100", "one host · 104 cores · 800 GiB", "12.40", ""),
        ("b200-1", "1 × B200", "", "5.90", "none in this region today"),
    ]
    return [
        Thing(
            value=value,
            title=title,
            detail=detail,
            price=usd(price),
            why=why,
            disabled=bool(why),
            checked=value == "h100-1",
            simulated=not value.startswith("cpu"),
            spot=value.endswith("spot"),
            saves=usd("1.86") if value.endswith("spot") else None,
        )
        for value, title, detail, price, why in rows
    ]


def launch() -> Context:
    form = _launch_form()
    return {
        "form": form,
        "fields": [form[name] for name in PLAIN],
        "kinds": _kinds("workspace"),
        "shapes": _shapes(),
        "key": "0193a1b2",
        "launch_url": "/launch",
        "panel_url": "/launch/panel",
        "verdict": Thing(
            tone="good",
            title="Starts now",
            detail="In about 20 s. 7 H100 are left in your quota.",
            reasons=[],
            allowed=True,
        ),
        "quotas": _quotas(),
        "costs": [Thing(label="GPU, 1 × H100", rate=usd("3.10")), Thing(label="Disk, 50 GiB", rate=usd("0.0041"))],
        "rate": usd("3.1041"),
        "rate_stopped": usd("0.0041"),
        "month": usd("2265.99"),
        "alternatives": [
            Thing(title="An L4 may do", detail="Your last three sessions used 19 GB of GPU memory. $0.71 / h.", url="#")
        ],
    }


def launch_refused() -> Context:
    reasons = [
        "Quota of vision, H100: 9 of 16 used, 8 asked for, 7 left.",
        "A disk has at most 2,000 GiB here; 5,000 asked for.",
    ]
    form = _launch_form(name="", disk_gib="5000", kind="job", command="python 'train.py")
    return {
        **launch(),
        "form": form,
        "fields": [form[name] for name in PLAIN],
        "kinds": _kinds("job"),
        "verdict": Thing(tone="bad", title="Cannot start", detail="", reasons=reasons, allowed=False),
        "alternatives": [],
    }


def _events() -> list[Thing]:
    return [
        Thing(id="5", at=NOW, title="Running", tone="now", detail="JupyterLab answers. The meter runs since 13:57:54."),
        Thing(id="4", at=at(seconds=18), title="Started", tone="", detail="The process runs; its capacity is bound."),
        Thing(id="3", at=at(seconds=21), title="Admitted", tone="", detail="Quota vision/H100: 9 of 16."),
        Thing(
            id="2",
            at=at(minutes=17),
            title="First try failed",
            tone="bad",
            detail="JupyterLab ended with code 1. Nothing was charged.",
        ),
        Thing(id="1", at=at(minutes=18), title="Launched", tone="", detail="by Alice Moreau, in the portal"),
    ]


def running() -> Context:
    parts = ("head", "timeline", "cost", "stops", "warning", "activity", "logs")
    return {
        "workload": Thing(
            id="1",
            name="segmentation-notes",
            kind="workspace",
            kind_word="Workspace",
            shape="1 × H100 80 GB",
            simulated=True,
            placement="local",
            owner="Alice Moreau",
            project="vision",
            tone="good",
            word="Running",
            reason="",
            help="",
            may_open=True,
            may_stop=True,
            may_start=False,
            may_retry=False,
            may_keep=True,
            may_delete=True,
            again_url="",
        ),
        "urls": Thing(
            list="/workloads",
            open="#",
            stop="#",
            start="#",
            keep="#",
            delete="#",
            **{part: f"/workload/{part}" for part in parts},
        ),
        "rate_stopped": usd("0.0041"),
        "disk": "50 GiB",
        "kept_days": 7,
        "log": _LOG,
        "log_url": "/workload/logs",
        "log_of": None,
        "newest_log_url": "/workload#logs",
        "job": None,
        "pods_url": "/workload/pods",
        "pods": [
            Thing(
                name="ws-0193a1b2c3d47e5f8a9b0c1d2e3f4a5b-0",
                part="",
                node="gpu-003",
                tone="good",
                word="Running",
                reason="",
                restarts=0,
                cpu="3.41",
                memory="41.2 GB",
            )
        ],
        "loaded": True,
        "unmeasured": "",
        "happenings_url": "/workload/cluster-events",
        "happenings": [
            Thing(
                uid=uid, at=at(minutes=2), about="Pod ws-0193a1b2-0", reason=reason, message=said, warning=bad, count=4
            )
            for uid, reason, said, bad in (
                ("2", "Started", "Started container server", False),
                ("1", "FailedScheduling", "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", True),
            )
        ],
        "zone": "Europe/Berlin",
        "events": _events(),
        "lines": [
            Thing(label="GPU, 4 h 0 min 18 s", amount=usd("12.41"), exact="12.4155 USD"),
            Thing(label="Disk, 50 GiB", amount=usd("0.02"), exact="0.0164205 USD"),
        ],
        "so_far": usd("12.43"),
        "so_far_exact": "12.4319205 USD",
        "rate": usd("3.1041"),
        "charged_to": "vision · CC-4410",
        "usage_url": "/usage",
        "as_of": NOW,
        "stops": Thing(
            at=at(hours=-5),
            rule="60 minutes after the last sign of work.",
            sign="kernel busy",
            sign_at=at(minutes=2),
            soon=True,
            keep_until=at(hours=-9),
        ),
        "verdict": "active",
        "verdict_words": "active",
        "signals": [
            Thing(label="Kernels", word="1 of 2 busy", at=at(minutes=2)),
            Thing(label="Terminals", word="none", at=None),
            Thing(label="Connections", word="3 open", at=at(minutes=1)),
        ],
    }


def retrying() -> Context:
    """A job that failed once and waits for its second try."""
    sample = dict(running())
    changes = {
        "name": "sam-finetune-04",
        "kind": "job",
        "kind_word": "Job",
        "shape": "4 workers, each 1 × H100",
        "tone": "wait",
        "word": "Waiting to retry at 14:00:10",
        "reason": "The command failed (exit code 1). 2 of 3 retries left.",
        "may_open": False,
        "may_start": True,
        "may_keep": False,
        "again_url": "/launch",
    }
    sample["workload"] = Thing(**{**vars(sample["workload"]), **changes})
    words = ["torchrun", "--nproc-per-node", "1", "train.py", "--note", "two words", "", "--data", "/data/" * 20]
    sample["job"] = Thing(
        words=words,
        left_out=12,
        workers=4,
        retries=3,
        longest="12 h",
        success_codes="0, 3",
        fatal_codes="2",
        array=None,
    )
    ended = {"started_at": at(minutes=40), "held": timedelta(minutes=39), "runs": False, "log_url": "#"}
    sample["attempts"] = [
        Thing(number=2, tone="off", word="Interrupted", exit_code=None, reason="Its node was drained.", **ended),
        Thing(number=1, tone="bad", word="Failed", exit_code=1, reason="The command failed (exit code 1).", **ended),
    ]
    sample |= {"left_out": 0, "retries": "2 of 3 retries left", "attempts_url": "/workload/attempts"}
    sample |= {"log_url": "/workload/logs", "log_of": "attempt 1"}
    files = [("model/weights.pt", "412.0 MB"), ("metrics.json", "4.1 KB")]
    sample["artifacts"] = [Thing(path=path, size=size, at=at(minutes=41), url="#") for path, size in files]
    sample["artifacts_url"] = "/workload/artifacts"
    sample["stops"] = Thing(at=None, rule="A job ends when its command does.", sign="", sign_at=None, soon=False)
    return sample


def sweeping() -> Context:
    """An array of 24 tasks, some done, some not."""
    sample = dict(retrying())
    changes = {"name": "lr-sweep", "shape": "4 tasks at once, each 1 × H100", "tone": "good", "word": "Running"}
    sample["workload"] = Thing(**{**vars(sample["workload"]), **changes, "reason": "", "may_start": False})
    rates, seeds = "0.1, 0.03, 0.01, 0.003, 0.001, 0.0003", "1, 2, 3, 4"
    swept = [Thing(name="LEARNING_RATE", values=rates), Thing(name="SEED", values=seeds)]
    array = Thing(count=24, at_once=4, sweep=swept, rule="the others go on")
    sample["job"] = Thing(**{**vars(sample["job"]), "array": array, "left_out": 0})
    ends = [("bad", "Failed", 3, 1), *[("wait", "Running", 0, None)] * 3, ("off", "Waiting", 1, 1)]
    ends += [("good", "Done", 0, 0)] * 4
    sample["tasks"] = [
        Thing(
            index=index,
            parameters=[f"LEARNING_RATE={rates.split(', ')[index % 6]}", f"SEED={index % 4 + 1}"],
            tone=tone,
            word=word,
            failures=failures,
            started_at=at(minutes=40),
            held=timedelta(minutes=9, seconds=index),
            exit_code=code,
            log_url="#",
        )
        for index, (tone, word, failures, code) in enumerate(ends)
    ]
    counts = "4 done, 3 running, 1 failed, 16 waiting"
    sample |= {
        "task_count": 24,
        "tasks_done": 4,
        "task_words": counts,
        "tasks_left_out": 0,
        "tasks_url": "/workload/tasks",
    }
    sample["attempts"] = [
        Thing(
            number=1,
            tone="wait",
            word="Running",
            exit_code=None,
            reason="",
            runs=True,
            log_url="#",
            started_at=at(minutes=40),
            held=timedelta(minutes=40),
        )
    ]
    return sample | {"retries": "Each task: 3 retries", "log_of": "task 0"}


def failed() -> Context:
    sample = dict(running())
    changes = {
        "tone": "bad",
        "word": "Failed",
        "reason": "JupyterLab ended with code 1 before it answered.",
        "help": "The last lines of its log are below. Nothing is charged but the disk.",
        "may_open": False,
        "may_stop": False,
        "may_retry": True,
        "may_keep": False,
    }
    sample["workload"] = Thing(**{**vars(sample["workload"]), **changes})
    sample["stops"] = Thing(at=None, rule="It does not run.", sign="", sign_at=None, soon=False, keep_until=None)
    sample["signals"] = []
    sample["rate"] = None
    sample["verdict_words"] = "unknown"
    return sample


def volumes() -> Context:
    return {
        "kept_days": 7,
        "launch_url": "/launch",
        "volumes": [
            Thing(
                id=row.id,
                name=row.name,
                size="50 GiB",
                project=row.project,
                workload=row.name,
                workload_url=row.url,
                word=row.word,
                tone=row.tone,
                rate=usd("0.0041"),
            )
            for row in _rows()
        ],
        "deleted": [
            Thing(
                id="9",
                name="first-steps",
                size="20 GiB",
                project="vision",
                deleted_at=at(days=2),
                gone_at=at(days=-5),
                restore_url="#",
            ),
            Thing(
                id="8",
                name="scratch",
                size="500 GiB",
                project="vision",
                deleted_at=at(days=6),
                gone_at=at(days=-1),
                restore_url="",
            ),
        ],
    }
