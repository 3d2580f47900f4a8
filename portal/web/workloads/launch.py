"""The launch form, which answers while one types."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from core import refusals
from core.errors import Conflict, Forbidden, Invalid, Refused
from core.ids import uuid7
from core.routes import route
from core.types import Actor
from portal.web.here import project_here
from portal.web.numbers import rate
from portal.web.workloads.panel import panel_of, panel_of_refusal
from provisioning.enums import Kind
from provisioning.selectors.catalogue import OfferedShape, active_images, offered_shapes
from provisioning.selectors.launching import preview, propose_name
from provisioning.selectors.workloads import kept_volumes
from provisioning.services.launching import launch
from provisioning.types import WorkloadSpec
from tenants.enums import Permission
from tenants.selectors import organization_of, projects_with

if TYPE_CHECKING:
    from provisioning.models import Volume
    from tenants.models import Project

_USUAL_DISK_GIB = 20
_SHOWN = ("project", "image", "name", "disk_gib", "labels", "preemptible", "justification", "volume")


class LaunchForm(forms.Form):
    project = forms.ChoiceField()
    image = forms.ChoiceField()
    name = forms.CharField(max_length=48, help_text="Lower-case letters, digits and hyphens.")
    disk_gib = forms.IntegerField(
        label="Disk, GiB", min_value=1, max_value=65_536, help_text="Files stay on it while the workspace is stopped."
    )
    labels = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
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
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="For whoever has to approve it, where a policy asks for approval.",
    )
    kind = forms.ChoiceField(choices=[(kind.value, kind.value) for kind in Kind], widget=forms.HiddenInput)
    shape = forms.CharField(max_length=60, widget=forms.HiddenInput, error_messages={"required": "Choose a shape."})
    volume = forms.UUIDField(required=False, widget=forms.HiddenInput)

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


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that the form offers to this person now."""

    actor: Actor
    now: datetime
    projects: list[Project]
    shapes: list[OfferedShape]
    here: Project | None
    volume: Volume | None

    def project(self, slug: str) -> Project | None:
        return next((project for project in self.projects if project.slug == slug), None)


@route(permission=Permission.LAUNCH_WORKLOAD, verb="workload.launched")
@never_cache
@require_http_methods(["GET", "POST"])
def launch_page(request: HttpRequest) -> HttpResponse:
    """The form; a POST launches. The same form sent twice gives the same workload."""
    scene = _scene(request, request.POST if request.method == "POST" else request.GET)
    if request.method != "POST":
        return _page(request, scene, _form(scene, _first_values(scene, request.GET)))
    form = _form(scene, request.POST)
    if not form.is_valid():
        return _page(request, scene, form, status=400)
    project = scene.project(form.cleaned_data["project"])
    assert project is not None
    try:
        workload = launch(
            actor=scene.actor,
            project=project,
            spec=_spec(form),
            now=scene.now,
            request_key=request.POST.get("idempotency_key", "").replace("\0", "")[:200],
            justification=form.cleaned_data["justification"],
        )
    except Invalid as error:
        for each in error.errors:
            form.add_error(each.field if each.field in form.fields else None, each.message)
        return _page(request, scene, form, status=400)
    except Refused as error:
        refusals.note(request, error)
        return _page(request, scene, form, status=409, refusal=error)
    except Conflict as error:
        refusals.note(request, error)
        panel = _panel(scene, form)
        form.add_error("name" if error.code == "name_taken" else None, error.message)
        return _page(request, scene, form, status=409, panel=panel)
    return redirect("workload", workload.pk)


@route(permission=Permission.LAUNCH_WORKLOAD, verb="workload.previewed")
@never_cache
@require_GET
def launch_panel(request: HttpRequest) -> HttpResponse:
    """Price, quota, start and every reason why not, for the form as it stands."""
    scene = _scene(request, request.GET)
    return render(request, "portal/workloads/_panel.html", _panel(scene, _form(scene, request.GET)))


def _scene(request: HttpRequest, values: QueryDict) -> Scene:
    actor: Actor = request.actor  # type: ignore[attr-defined]
    now = timezone.now()
    projects = list(projects_with(actor, Permission.LAUNCH_WORKLOAD))
    if not projects:
        raise Forbidden(Permission.LAUNCH_WORKLOAD, organization_of(actor).ref, ask="an admin of the project")
    return Scene(
        actor=actor,
        now=now,
        projects=projects,
        shapes=offered_shapes(organization_of(actor).currency, now),
        here=project_here(request),
        volume=_volume(actor, values.get("volume", ""), now),
    )


def _volume(actor: Actor, asked: str, now: datetime) -> Volume | None:
    try:
        return kept_volumes(actor, now).filter(pk=UUID(asked)).first() if asked else None
    except ValueError:
        return None


def _first_values(scene: Scene, asked: QueryDict) -> dict[str, object]:
    wanted = scene.project(asked.get("project", "")) or (scene.project(scene.here.slug) if scene.here else None)
    project = wanted or scene.projects[0]
    if scene.volume is not None:
        project = scene.project(scene.volume.project.slug) or project
    shape = asked.get("shape") or (scene.shapes[0].facts.slug if scene.shapes else "")
    images = active_images()
    return {
        "project": project.slug,
        "image": asked.get("image") or (images[0].slug if images else ""),
        "name": asked.get("name") or propose_name(project, Kind.WORKSPACE),
        "disk_gib": scene.volume.size_gib if scene.volume else asked.get("disk_gib", _USUAL_DISK_GIB),
        "kind": Kind.WORKSPACE.value,
        "shape": shape,
        "volume": str(scene.volume.pk) if scene.volume else "",
        "labels": asked.get("labels", ""),
        "preemptible": asked.get("preemptible", ""),
    }


def _form(scene: Scene, values: QueryDict | dict[str, object]) -> LaunchForm:
    form = LaunchForm(values)
    project, image = form.fields["project"], form.fields["image"]
    assert isinstance(project, forms.ChoiceField)
    assert isinstance(image, forms.ChoiceField)
    project.choices = [(each.slug, each.name) for each in scene.projects]
    image.choices = [(each.slug, each.label) for each in active_images()]
    if scene.volume is not None:
        form.fields["disk_gib"].widget.attrs["readonly"] = True
        form.fields["disk_gib"].help_text = f"The disk of {scene.volume.name}, brought back with its files."
    return form


def _spec(form: LaunchForm) -> WorkloadSpec:
    data = form.cleaned_data
    return WorkloadSpec(
        kind=data["kind"],
        shape=data["shape"],
        image=data["image"],
        disk_gib=data["disk_gib"],
        name=data["name"],
        volume_id=data["volume"],
        labels=data["labels"],
        preemptible=data["preemptible"],
    )


def _panel(scene: Scene, form: LaunchForm, refusal: Refused | None = None) -> dict[str, object]:
    if not form.is_valid():
        return panel_of_refusal([str(error[0]) for error in form.errors.values()])
    project = scene.project(form.cleaned_data["project"])
    assert project is not None
    try:
        found = preview(scene.actor, project, _spec(form), scene.now)
    except Invalid as error:
        return panel_of_refusal([each.message for each in error.errors])
    return panel_of(found, disk_gib=form.cleaned_data["disk_gib"], asked=form.data, refusal=refusal)


def _page(
    request: HttpRequest,
    scene: Scene,
    form: LaunchForm,
    *,
    status: int = 200,
    refusal: Refused | None = None,
    panel: dict[str, object] | None = None,
) -> HttpResponse:
    chosen = form.data.get("shape", "")
    context = {
        "form": form,
        "fields": [form[name] for name in _SHOWN],
        "kinds": [{"value": Kind.WORKSPACE.value, "title": "Workspace", "detail": "JupyterLab", "checked": True}],
        "shapes": [_choice(offer, chosen, organization_of(scene.actor).currency) for offer in scene.shapes],
        "key": form.data.get("idempotency_key") if status >= 400 else str(uuid7()),
        "launch_url": reverse("launch"),
        "panel_url": reverse("launch-panel"),
        **(panel or _panel(scene, form, refusal)),
    }
    return render(request, "portal/workloads/launch.html", context, status=status)


def _choice(offer: OfferedShape, chosen: str, currency: str) -> dict[str, object]:
    facts = offer.facts
    price: Fraction | None = facts.price_per_hour
    return {
        "value": facts.slug,
        "title": facts.label,
        "detail": f"{facts.vcpus} cores · {facts.memory_gib:,} GiB memory",
        "price": rate(price, currency) if price is not None else None,
        "checked": facts.slug == chosen,
        "disabled": price is None,
        "why": "" if price is not None else "has no price yet",
        "simulated": offer.simulated,
    }
