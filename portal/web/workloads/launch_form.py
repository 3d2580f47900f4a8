"""The fields of the launch form, and what they mean."""

from __future__ import annotations

from datetime import timedelta
from math import ceil, prod
from typing import TYPE_CHECKING

from django import forms

from portal.web.workloads import sweeps
from portal.web.workloads.commands import Unreadable, typed, words_of
from portal.web.workloads.sweeps import Sweep, sweep_of
from portal.web.workloads.sweeps import typed as typed_sweep
from provisioning.enums import Kind
from provisioning.types import ArraySpec, ClusterSpec, JobSpec, WorkloadSpec

if TYPE_CHECKING:
    from provisioning.models import Workload

PLAIN = ("project", "image", "name", "disk_gib", "labels", "preemptible", "justification", "volume")
"""Fields of every kind that are shown as they come."""
OF_ARRAYS = ("tasks", "parallelism", "sweep", "stop_at_first_failure")
OF_JOBS = ("command", "workers", "retries", "hours", "minutes", "success_codes", "fatal_codes", *OF_ARRAYS)
CARRIED = ("kind", "project", "image", "name", "disk_gib", "labels", "preemptible", "nodes", *OF_JOBS)
"""What an address may carry of a filled form. Variables may be secret: no address carries them."""
_FIELD_OF = {"max_duration_seconds": "hours", "array.count": "tasks"}
_LONGEST_COMMAND, _LONGEST_SWEEP = 33_000, 20_000
_LARGEST, _MOST_HOURS, _MOST_MINUTES = 100_000, 10_000, 100_000


def _lines(rows: int, **attrs: str) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": rows, **attrs})


def _verbatim(rows: int) -> forms.Textarea:
    return _lines(rows, spellcheck="false", autocapitalize="off", autocomplete="off", **{"class": "code"})


class LaunchForm(forms.Form):
    kind = forms.ChoiceField(choices=[(kind.value, kind.value) for kind in Kind], widget=forms.HiddenInput)
    command = forms.CharField(
        max_length=_LONGEST_COMMAND,
        widget=_verbatim(3),
        error_messages={"required": "A job needs a command."},
        help_text="One command, as you would type it. Its words are shown as they are read.",
    )
    shape = forms.CharField(max_length=60, widget=forms.HiddenInput, error_messages={"required": "Choose a shape."})
    workers = forms.IntegerField(
        max_value=_LARGEST, help_text="All start at once, each on a shape of its own, and know their rank."
    )
    retries = forms.IntegerField(
        max_value=_LARGEST, help_text="After failures of its own. An interruption by the cluster costs none."
    )
    nodes = forms.IntegerField(max_value=_LARGEST, help_text="Each on a shape of its own; the first is the head.")
    hours = forms.IntegerField(required=False, min_value=0, max_value=_MOST_HOURS)
    minutes = forms.IntegerField(required=False, min_value=0, max_value=_MOST_MINUTES)
    project = forms.ChoiceField()
    image = forms.ChoiceField()
    name = forms.CharField(max_length=48, help_text="Lower-case letters, digits and hyphens.")
    disk_gib = forms.IntegerField(
        label="Disk, GiB",
        min_value=1,
        max_value=65_536,
        help_text="The home folder. Files stay on it while nothing runs.",
    )
    labels = forms.CharField(
        required=False,
        widget=_lines(2),
        help_text="One a line, such as experiment=baseline. A policy may ask for some.",
    )
    preemptible = forms.BooleanField(
        label="Preemptible",
        required=False,
        help_text="It may be ended where it stands on quota that its lender wants back, and starts again later.",
    )
    justification = forms.CharField(
        label="Why",
        required=False,
        max_length=1000,
        widget=_lines(2),
        help_text="For whoever has to approve it, where a policy asks for approval.",
    )
    env = forms.CharField(
        label="Environment variables",
        required=False,
        strip=False,
        widget=_verbatim(3),
        help_text="One a line: NAME=value, the value as it stands. Only you see them again.",
    )
    success_codes = forms.CharField(
        label="Exit codes when it is done",
        max_length=200,
        error_messages={"required": "Name at least one exit code with which it is done."},
        help_text="Usually 0 alone. Several: 0, 3.",
    )
    fatal_codes = forms.CharField(
        label="Exit codes that are not tried again",
        required=False,
        max_length=200,
        help_text="Such as 2 for a mistake in its options.",
    )
    tasks = forms.IntegerField(
        required=False, max_value=_LARGEST, help_text="How many times the command runs. A sweep says it by itself."
    )
    parallelism = forms.IntegerField(
        label="At once",
        required=False,
        max_value=_LARGEST,
        help_text="Each on a shape of its own. So much is held, and paid, until the last task has ended.",
    )
    sweep = forms.CharField(
        label="Sweep",
        required=False,
        max_length=_LONGEST_SWEEP,
        widget=_verbatim(3),
        help_text="A variable a line: LR=0.1, 0.01. There is a task for each combination of their values.",
    )
    stop_at_first_failure = forms.BooleanField(
        label="Stop at the first failure",
        required=False,
        help_text="The first task that fails for good ends the others. Otherwise they go on.",
    )
    volume = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def clean(self) -> None:
        """What one kind needs is not asked of another."""
        kind = self.cleaned_data.get("kind")
        for name in (*(OF_JOBS if kind != Kind.JOB else ()), *(("nodes",) if kind != Kind.CLUSTER else ())):
            self.errors.pop(name, None)

    def clean_command(self) -> tuple[str, ...]:
        try:
            return words_of(str(self.cleaned_data["command"]))
        except Unreadable as error:
            raise forms.ValidationError(str(error)) from None

    def clean_labels(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in str(self.cleaned_data["labels"]).splitlines():
            name, equals, value = (part.strip() for part in line.partition("="))
            if not line.strip():
                continue
            if not equals or not name or not value:
                raise forms.ValidationError(f"“{line.strip()[:40]}” is not name=value.")
            found[name] = value
        return found

    def clean_env(self) -> dict[str, str]:
        """An empty value is one. What cannot be read is named by its line: it may be secret."""
        found: dict[str, str] = {}
        for number, line in enumerate(str(self.cleaned_data["env"]).splitlines(), 1):
            name, equals, value = line.partition("=")
            if not line.strip():
                continue
            if not equals or not name.strip():
                raise forms.ValidationError(f"Line {number} is not NAME=value.")
            found[name.strip()] = value
        return found

    def clean_sweep(self) -> Sweep:
        try:
            return sweep_of(str(self.cleaned_data["sweep"]))
        except sweeps.Unreadable as error:
            raise forms.ValidationError(str(error)) from None

    def clean_success_codes(self) -> tuple[int, ...]:
        return _codes(str(self.cleaned_data["success_codes"]))

    def clean_fatal_codes(self) -> tuple[int, ...]:
        return _codes(str(self.cleaned_data["fatal_codes"]))

    @property
    def chosen_kind(self) -> Kind:
        asked = str(self.data.get("kind", ""))
        return Kind(asked) if asked in set(Kind) else Kind.WORKSPACE

    @property
    def opens_array(self) -> bool:
        """Whether it asks for an array, or what it says of one is wrong."""
        return any(self.data.get(name) for name in OF_ARRAYS) or bool({*OF_ARRAYS} & set(self.errors))

    @property
    def opens_more(self) -> bool:
        """Whether something that is folded away was said, or is wrong."""
        names = ("env", "fatal_codes")
        told = self.data.get("success_codes", "0") not in ("", "0")
        return told or any(self.data.get(name) for name in names) or bool({*names, "success_codes"} & set(self.errors))


def spec_of(form: LaunchForm) -> WorkloadSpec:
    """What a valid form asks for."""
    data = form.cleaned_data
    return WorkloadSpec(
        kind=data["kind"],
        shape=data["shape"],
        image=data["image"],
        disk_gib=data["disk_gib"],
        name=data["name"],
        env=data["env"],
        volume_id=data["volume"],
        labels=data["labels"],
        preemptible=data["preemptible"],
        job=_job_of(form) if data["kind"] == Kind.JOB else None,
        cluster=ClusterSpec(data["nodes"]) if data["kind"] == Kind.CLUSTER else None,
    )


def field_named(path: str, form: LaunchForm) -> str | None:
    """The field at which an error of the spec is shown; None: above them all."""
    name = path.removeprefix("job.").removeprefix("cluster.")
    name = _FIELD_OF.get(name, name.removeprefix("array."))
    return name if name in form.fields else None


def wrongs(form: LaunchForm) -> list[str]:
    """What cannot be meant, each with its field's name."""
    return [
        f"{form[name].label}: {errors[0]}" if name in form.fields else str(errors[0])
        for name, errors in form.errors.items()
    ]


def values_of(workload: Workload, *, with_variables: bool) -> dict[str, object]:
    """The form filled as that workload was launched, but for its name."""
    labels = workload.spec.get("labels") or {}
    env = workload.env if with_variables else {}
    values = {
        "kind": workload.kind,
        "project": workload.project.slug,
        "shape": workload.shape.slug,
        "image": workload.image.slug,
        "disk_gib": workload.volume.size_gib,
        "labels": "\n".join(f"{name}={value}" for name, value in labels.items()),
        "env": "\n".join(f"{name}={value}" for name, value in env.items()),
        "preemptible": "on" if workload.preemptible else "",
        "nodes": workload.replicas,
    }
    return values if workload.job is None else values | _values_of_job(workload.job)


def _values_of_job(job: JobSpec) -> dict[str, object]:
    minutes = None if job.max_duration is None else ceil(job.max_duration.total_seconds() / 60)
    return {
        "command": typed(job.command),
        "workers": job.workers,
        "retries": job.retries,
        "hours": "" if minutes is None else minutes // 60 or "",
        "minutes": "" if minutes is None else minutes % 60 or "",
        "success_codes": ", ".join(map(str, job.success_codes)),
        "fatal_codes": ", ".join(map(str, job.fatal_codes)),
        **_values_of_array(job.array),
    }


def _values_of_array(array: ArraySpec | None) -> dict[str, object]:
    if array is None:
        return {}
    return {
        "tasks": "" if array.sweep else array.count,
        "parallelism": array.parallelism,
        "sweep": typed_sweep(array.sweep),
        "stop_at_first_failure": "on" if array.stops_at_failure else "",
    }


def _job_of(form: LaunchForm) -> JobSpec:
    data = form.cleaned_data
    limited = data["hours"] is not None or data["minutes"] is not None
    limit = timedelta(hours=data["hours"] or 0, minutes=data["minutes"] or 0)
    return JobSpec(
        command=data["command"],
        workers=data["workers"],
        retries=data["retries"],
        max_duration=limit if limited else None,
        success_codes=data["success_codes"],
        fatal_codes=data["fatal_codes"],
        array=_array_of(form),
    )


def _array_of(form: LaunchForm) -> ArraySpec | None:
    """None where nothing of an array was asked for."""
    data = form.cleaned_data
    sweep, tasks, at_once = data["sweep"], data["tasks"], data["parallelism"]
    if not sweep and tasks is None and at_once is None:
        return None
    combinations = prod(len(values) for _, values in sweep) if sweep else 0
    return ArraySpec(
        count=combinations if tasks is None else tasks,
        parallelism=1 if at_once is None else at_once,
        sweep=sweep,
        stops_at_failure=data["stop_at_first_failure"],
    )


def _codes(text: str) -> tuple[int, ...]:
    words = text.replace(",", " ").split()
    if not all(word.isascii() and word.isdecimal() and len(word) <= 3 for word in words):
        raise forms.ValidationError("Exit codes are whole numbers of 0 to 255, with commas between.")
    return tuple(dict.fromkeys(int(word) for word in words))
