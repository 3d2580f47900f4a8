"""Forms that take credentials of a cluster. What is given is never written into a page again."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core import refusals, scope
from core.errors import Conflict, FieldError, Invalid, Refused, SteelyardError
from core.routes import route
from core.types import ObjectRef
from portal.web.console import frame
from portal.web.console.cluster_acts import MAY, allowed
from portal.web.console.clusters import cluster_page
from provisioning.selectors.catalogue import regions
from provisioning.selectors.clusters import access_manifest as manifest
from provisioning.services import cluster_access, clusters
from provisioning.services.cluster_access import Given
from provisioning.services.clusters import Registration


class Unshown(forms.Textarea):
    """A field for many lines that never shows what was written into it."""

    def format_value(self, value: object) -> None:
        return None


def _pem(label: str) -> forms.CharField:
    attributes = {"rows": 3, "spellcheck": "false", "placeholder": "-----BEGIN …"}
    return forms.CharField(label=label, required=False, max_length=65_536, widget=Unshown(attrs=attributes))


class CredentialsForm(forms.Form):
    """A kubeconfig or single fields."""

    kubeconfig_file = forms.FileField(
        label="Kubeconfig, as a file", required=False, help_text="With everything in it: no commands, no other files."
    )
    kubeconfig = forms.CharField(
        label="or as text",
        required=False,
        widget=Unshown(attrs={"rows": 5, "spellcheck": "false"}),
        help_text="What “kubectl config view --raw --minify” shows.",
    )
    context = forms.CharField(required=False, max_length=253, help_text="Empty: its current one.")
    server = forms.CharField(required=False, max_length=300, help_text="Such as https://10.0.0.1:6443.")
    ca_pem = _pem("Certificate of the authority")
    server_name = forms.CharField(
        label="Name in the server's certificate", required=False, max_length=253, help_text="Where it is another."
    )
    token = forms.CharField(
        required=False,
        max_length=16_384,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Of a service account. Else a client certificate with its key.",
    )
    client_certificate_pem = _pem("Client certificate")
    client_key_pem = _pem("Key of the client certificate")

    @property
    def of_kubeconfig(self) -> list[forms.BoundField]:
        return [self[name] for name in ("kubeconfig_file", "kubeconfig", "context")]

    @property
    def single(self) -> list[forms.BoundField]:
        names = ("server", "ca_pem", "server_name", "token", "client_certificate_pem", "client_key_pem")
        return [self[name] for name in names]

    def given(self) -> Given:
        """Raises Invalid for a file that is none."""
        asked = self.cleaned_data
        upload = asked["kubeconfig_file"]
        single = {name: asked[name] for name in Given.__dataclass_fields__ if name != "kubeconfig"}
        return Given(kubeconfig=_read(upload) if upload else asked["kubeconfig"], **single)


class RegisterForm(CredentialsForm):
    label = forms.CharField(label="Name", max_length=80, help_text="How people read of it.")
    slug = forms.CharField(
        label="Short name", max_length=40, help_text="Small letters, digits and hyphens. It stays, and is never reused."
    )
    region = forms.ChoiceField()
    storage_class = forms.CharField(
        required=False, max_length=253, help_text="The cluster's own, for disks. Empty: its default."
    )

    def __init__(self, data: Mapping[str, object] | None = None, files: object = None) -> None:
        super().__init__(data, files)  # type: ignore[arg-type]
        field = self.fields["region"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(row.slug, row.label) for row in regions()]

    @property
    def names(self) -> list[forms.BoundField]:
        return [self[name] for name in ("label", "slug", "region", "storage_class")]

    def registration(self) -> Registration:
        """Raises Invalid."""
        asked = self.cleaned_data
        classes = {"standard": asked["storage_class"]} if asked["storage_class"] else {}
        connection = cluster_access.connection_from(self.given())
        return Registration(asked["slug"], asked["label"], asked["region"], connection, classes)


@route(permission=MAY, verb="cluster.registered", scoped=False)
@require_http_methods(["GET", "POST"])
def register_page(request: HttpRequest) -> HttpResponse:
    """The form; a POST looks at the cluster, outside any transaction, and takes it in where nothing is missing."""
    actor = allowed(request, "new")
    with scope.of_platform():
        form = RegisterForm(request.POST, request.FILES) if request.method == "POST" else RegisterForm()
    if request.method != "POST" or not form.is_valid():
        return _register(request, form)
    try:
        registration = form.registration()
        cluster_access.demand(actor=actor, registration=registration)
        with scope.of_platform():
            cluster = clusters.register(actor=actor, registration=registration, now=timezone.now())
    except (Invalid, Refused, Conflict) as error:
        refusals.note(request, error)
        return _register(request, form, error)
    messages.success(request, f"{cluster.label} is in the fleet. Its nodes are being listed.")
    return redirect("console-cluster", cluster.slug)


@route(permission=MAY, verb="cluster.tried", scoped=False)
@require_POST
def register_try(request: HttpRequest) -> HttpResponse:
    """What a registration would find, as a part of the form's page. Stores nothing."""
    actor = allowed(request, "new")
    with scope.of_platform():
        form = RegisterForm(request.POST, request.FILES)
    template = "portal/console/_cluster_findings.html"
    if not form.is_valid():
        errors = [f"{form[name].label}: {each[0]}" for name, each in form.errors.items()]
        return render(request, template, {"errors": errors}, status=422)
    try:
        registration = form.registration()
    except Invalid as error:
        return render(request, template, {"errors": [each.message for each in error.errors]}, status=422)
    finding, problems = cluster_access.examine(actor=actor, registration=registration)
    with frame.across(request, MAY, "cluster.tried", ObjectRef("cluster", registration.slug, registration.slug)):
        context = {"finding": finding, "errors": [each.message for each in problems]}
    return render(request, template, context)


@route(permission=MAY, verb="cluster.access_exported", scoped=False)
@require_GET
def access_manifest(request: HttpRequest) -> HttpResponse:
    """What the cluster's administrator applies first."""
    allowed(request, "new")
    headers = {"Content-Disposition": 'attachment; filename="steelyard-access.yaml"'}
    return HttpResponse(manifest(), content_type="application/yaml; charset=utf-8", headers=headers)


@route(permission=MAY, verb="cluster.credentials_changed", scoped=False)
@require_POST
def credentials(request: HttpRequest, slug: str) -> HttpResponse:
    """The cluster is asked with the new ones first; until it answers to them, the old ones stay."""
    actor = allowed(request, slug)
    form = CredentialsForm(request.POST, request.FILES)
    if not form.is_valid():
        problems = [str(each[0]) for each in form.errors.values()]
        return cluster_page(request, slug, problems=problems, status=400)
    try:
        connection = cluster_access.try_credentials(actor=actor, slug=slug, given=form.given())
        with scope.of_platform():
            cluster = cluster_access.change_credentials(
                actor=actor, slug=slug, connection=connection, now=timezone.now()
            )
    except (Invalid, Refused, Conflict) as error:
        refusals.note(request, error)
        return cluster_page(request, slug, problems=_sentences(error), status=409)
    messages.success(request, f"{cluster.label} answers to the new credentials. The old ones are forgotten.")
    return redirect("console-cluster", slug)


def _register(request: HttpRequest, form: RegisterForm, error: SteelyardError | None = None) -> HttpResponse:
    for each in error.errors if isinstance(error, Invalid) else ():
        form.add_error(each.field if each.field in form.fields else None, each.message)
    missing = _sentences(error) if error is not None and not isinstance(error, Invalid) else []
    answer = frame.page(request, "portal/console/cluster_new.html", {"form": form, "missing": missing})
    answer.status_code = 409 if missing else 400 if form.errors else 200
    return answer


def _sentences(error: SteelyardError) -> list[str]:
    if isinstance(error, Invalid):
        return [each.message for each in error.errors]
    return [reason.message for reason in error.reasons] if isinstance(error, Refused) else [error.message]


def _read(upload: UploadedFile[bytes]) -> str:
    if (upload.size or 0) > cluster_access.MOST_UPLOADED:
        message = f"The file is larger than {cluster_access.MOST_UPLOADED // 1024} KiB: that is no kubeconfig."
        raise Invalid([FieldError("kubeconfig_file", "too_large", message)])
    return cluster_access.text_of(upload.read())
