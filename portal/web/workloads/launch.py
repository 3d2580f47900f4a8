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
from core.errors import Conflict, Forbidden, Invalid, NotFound, Refused
from core.ids import uuid7
from core.money import Money
from core.routes import route
from core.types import Actor
from portal.web.here import project_here
from portal.web.numbers import rate
from portal.web.workloads.launch_form import CARRIED, PLAIN, LaunchForm, field_named, spec_of, values_of, wrongs
from portal.web.workloads.panel import panel_of, panel_of_refusal
from provisioning.enums import CapacityKind, ImageKind, Kind
from provisioning.permissions import sees_variables
from provisioning.selectors.catalogue import OfferedShape, active_images, offered_shapes
from provisioning.selectors.launching import preview, propose_name
from provisioning.selectors.workloads import kept_volumes, workload_for
from provisioning.services.launching import launch
from tenants.enums import Permission
from tenants.selectors import organization_of, projects_with

if TYPE_CHECKING:
    from provisioning.models import Image, Volume
    from tenants.models import Project

_USUAL_DISK_GIB = 20
CLUSTERS = frozenset({ImageKind.RAY, ImageKind.DASK})
_TITLES = {
    Kind.WORKSPACE: ("Workspace", "JupyterLab in a browser tab, until you stop it or it lies idle."),
    Kind.JOB: ("Training job", "A command on one or many workers, which runs to its end."),
    Kind.CLUSTER: ("Ray or Dask cluster", "A head and its workers, with a dashboard, until you stop it."),
}


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
            spec=spec_of(form),
            now=scene.now,
            request_key=request.POST.get("idempotency_key", "").replace("\0", "")[:200],
            justification=form.cleaned_data["justification"],
        )
    except Invalid as error:
        for each in error.errors:
            form.add_error(field_named(each.field, form), each.message)
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
    """What a fresh form says: what the address asks for, else what an earlier workload was, else the usual."""
    given = {name: asked[name] for name in (*CARRIED, "shape") if asked.get(name)}
    images = active_images()
    usual: dict[str, object] = {
        "kind": Kind.WORKSPACE.value,
        "project": (scene.here or scene.projects[0]).slug,
        "image": next((each.slug for each in images if _runs(each, str(given.get("kind", "")))), ""),
        "shape": scene.shapes[0].facts.slug if scene.shapes else "",
        "disk_gib": _USUAL_DISK_GIB,
        "workers": 1,
        "retries": 0,
        "nodes": 2,
        "success_codes": "0",
    }
    values = usual | _earlier(scene.actor, asked.get("again", "")) | given
    if scene.volume is not None:
        values |= {
            "project": scene.volume.project.slug,
            "disk_gib": scene.volume.size_gib,
            "volume": str(scene.volume.pk),
        }
    project = scene.project(str(values["project"])) or scene.projects[0]
    kind = str(values["kind"])
    proposed = propose_name(project, kind if kind in set(Kind) else Kind.WORKSPACE)
    return {"name": proposed} | values | {"project": project.slug}


def _runs(image: Image, kind: str) -> bool:
    return (image.kind in CLUSTERS) == (kind == Kind.CLUSTER)


def _earlier(actor: Actor, asked: str) -> dict[str, object]:
    """Of the workload that is launched again; nothing for one that the actor may not see."""
    try:
        workload = workload_for(actor, UUID(asked)) if asked else None
    except (ValueError, NotFound):
        return {}
    return values_of(workload, with_variables=sees_variables(actor, workload)) if workload else {}


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


def _panel(scene: Scene, form: LaunchForm, refusal: Refused | None = None) -> dict[str, object]:
    if not form.is_valid():
        return panel_of_refusal(wrongs(form))
    project = scene.project(form.cleaned_data["project"])
    assert project is not None
    try:
        found = preview(scene.actor, project, spec_of(form), scene.now)
    except Invalid as error:
        return panel_of_refusal([each.message for each in error.errors])
    return panel_of(found, spec_of(form), asked=form.data, refusal=refusal)


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
    shown = panel or _panel(scene, form, refusal)
    if status < 400 and not form.data.get("command"):
        form.errors.pop("command", None)  # Nobody has had the time to type one.
    context = {
        "form": form,
        "fields": [form[name] for name in PLAIN],
        "kinds": _kinds(scene, form),
        "shapes": [
            _choice(offer, scene.shapes, chosen, organization_of(scene.actor).currency) for offer in scene.shapes
        ],
        "key": form.data.get("idempotency_key") if status >= 400 else str(uuid7()),
        "launch_url": reverse("launch"),
        "panel_url": reverse("launch-panel"),
        **shown,
    }
    return render(request, "portal/workloads/launch.html", context, status=status)


def _kinds(scene: Scene, form: LaunchForm) -> list[dict[str, object]]:
    """Each with the name that it would propose, which follows the choice until somebody types another."""
    project = scene.project(str(form.data.get("project", ""))) or scene.projects[0]
    return [
        {
            "value": kind.value,
            "title": title,
            "detail": detail,
            "checked": kind is form.chosen_kind,
            "proposes": propose_name(project, kind),
        }
        for kind, (title, detail) in _TITLES.items()
        if kind is not Kind.CLUSTER or any(image.kind in CLUSTERS for image in active_images())
    ]


def _choice(offer: OfferedShape, others: list[OfferedShape], chosen: str, currency: str) -> dict[str, object]:
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
        "spot": offer.capacity_kind == CapacityKind.SPOT,
        "saves": _saves(offer, others, currency),
    }


def _saves(offer: OfferedShape, others: list[OfferedShape], currency: str) -> Money | None:
    """What an hour of it costs less than one of the same size that nobody takes back."""
    price = offer.facts.price_per_hour
    if offer.capacity_kind != CapacityKind.SPOT or price is None:
        return None
    same = [
        other.facts.price_per_hour
        for other in others
        if other.capacity_kind == CapacityKind.ON_DEMAND
        and (other.facts.region, other.facts.resources()) == (offer.facts.region, offer.facts.resources())
        and other.facts.price_per_hour is not None
    ]
    return rate(min(same) - price, currency) if same and min(same) > price else None
