"""What the editors of an organisation's and of the platform's rules share."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from django.urls import reverse

from core.errors import Invalid
from portal.web.policies.forms import FORMS, Choices, RuleForm
from portal.web.policies.words import MODES, PURPOSES, sentence
from provisioning.selectors.catalogue import accelerators, regions
from tenants.enums import PolicyKind, PolicyMode
from tenants.policy_rules import parse
from tenants.selectors import people_by_id
from tenants.selectors.policies import AnyPolicy, versions_of

NEW: dict[str, object] = {"mode": PolicyMode.OBSERVE}
"""A new rule is tried out first."""


def kind_of(request: HttpRequest) -> str:
    """The kind of rule that a page is asked about; the most usual one where it does not say."""
    kind = request.POST.get("kind") or request.GET.get("kind") or PolicyKind.APPROVAL_ABOVE.value
    if kind not in FORMS:
        raise Http404
    return kind


def form_of(request: HttpRequest, kind: str, *, initial: dict[str, object], currency: str) -> RuleForm:
    """The form of a kind of rule, filled in from a POST or from `initial`."""
    choices = Choices(
        regions=tuple(region.slug for region in regions()),
        models=tuple(each.model for each in accelerators()),
        currency=currency,
    )
    return FORMS[kind](choices, request.POST if request.method == "POST" else None, initial=initial)


def form_for(request: HttpRequest, policy: AnyPolicy, *, currency: str) -> RuleForm:
    """The form of a rule that exists. Its short name stays."""
    values = {"title": policy.title, "mode": policy.mode, **FORMS[policy.kind].values_of(policy.terms)}
    form = form_of(request, policy.kind, initial=values, currency=currency)
    del form.fields["slug"]
    return form


def terms_only(form: RuleForm) -> RuleForm:
    """For a preview: what the rule says is all that matters."""
    del form.fields["slug"], form.fields["mode"]
    form.fields["title"].required = False
    return form


def editor_context(form: RuleForm, kind: str, policy: AnyPolicy | None, **urls: object) -> dict[str, object]:
    """What `edit.html` shows, but for its addresses."""
    known = PolicyKind(kind)
    versions = versions_of(policy) if policy else []
    people = people_by_id({each.changed_by for each in versions if each.changed_by})
    return {
        "form": form,
        "fields": [form[name] for name in form.fields],
        "kind": known.label,
        "kind_value": known.value,
        "purpose": PURPOSES[known],
        "policy": policy,
        "versions": [
            {
                "number": each.number,
                "title": each.title,
                "sentence": sentence(parse(kind, each.terms)),
                "word": MODES[each.mode][1],
                "at": each.at,
                "by": people[each.changed_by].full_name if each.changed_by in people else "the platform",
            }
            for each in versions
        ],
        **urls,
    }


def show(form: RuleForm, error: Invalid) -> None:
    """Each field's error at the field; what the form has no field for stands above."""
    for each in error.errors:
        name = each.field.removeprefix("terms.").split(".")[0]
        form.add_error(name if name in form.fields else None, each.message)


def row(policy: AnyPolicy, url: str) -> dict[str, object]:
    """A rule in a list; `url`: its editor, or nothing."""
    tone, word = MODES[policy.mode]
    return {
        "title": policy.title,
        "slug": policy.rule.name.slug,
        "kind": PolicyKind(policy.kind).label,
        "sentence": sentence(policy.rule.terms),
        "tone": tone,
        "word": word,
        "changed_at": policy.changed_at,
        "url": url,
    }


def kinds(route: str) -> list[dict[str, object]]:
    """What a new rule may be about, each with the address of its editor."""
    return [
        {"label": each.label, "purpose": PURPOSES[each], "url": f"{reverse(route)}?kind={each.value}"}
        for each in PolicyKind
    ]
