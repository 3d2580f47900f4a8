"""One form for each kind of rule: what people fill in, and the terms that it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from django import forms

from core.types import Json
from tenants.enums import ChangeKind, DataClass, PolicyKind, PolicyMode, Resource

_UNITS = (("60", "minutes"), ("3600", "hours"), ("86400", "days"))
_CAPACITY = (("on_demand", "On demand"), ("reserved", "Reserved"), ("spot", "Spot"))
_MODES = (
    (PolicyMode.OFF.value, "Off"),
    (PolicyMode.OBSERVE.value, "Observe: say what it would do, and do nothing"),
    (PolicyMode.ENFORCE.value, "Enforce"),
)


@dataclass(frozen=True, slots=True)
class Choices:
    """What the catalogue offers to choose from, and the organisation's currency."""

    regions: tuple[str, ...]
    models: tuple[str, ...]
    currency: str


class RuleForm(forms.Form):
    """What every rule has. `slug` is asked for once, when it is made."""

    title = forms.CharField(max_length=80, help_text="How people read of it when it says no.")
    slug = forms.CharField(
        label="Short name", max_length=40, help_text="Lower-case letters, digits and hyphens. It stays."
    )
    mode = forms.ChoiceField(choices=_MODES, widget=forms.RadioSelect, initial=PolicyMode.OFF)

    def __init__(self, choices: Choices, data: Mapping[str, object] | None = None, **words: object) -> None:
        super().__init__(data, **words)  # type: ignore[arg-type]
        self.choices = choices
        self.offer(choices)
        own = [name for name in self.fields if name not in {"title", "slug", "mode"}]
        self.order_fields(["title", "slug", *own, "mode"])

    def offer(self, choices: Choices) -> None:
        """Fill in what may be chosen."""

    def terms(self) -> dict[str, Json]:
        raise NotImplementedError

    @staticmethod
    def values_of(terms: Mapping[str, Json]) -> dict[str, object]:
        """The form's values for terms that are stored."""
        return dict(terms)


class RegionsForm(RuleForm):
    def offer(self, choices: Choices) -> None:
        for value, label in DataClass.choices:
            self.fields[value] = forms.MultipleChoiceField(
                label=f"{label} data",
                choices=[(region, region) for region in choices.regions],
                required=False,
                widget=forms.CheckboxSelectMultiple,
                help_text="None chosen: this rule does not limit it.",
            )

    def terms(self) -> dict[str, Json]:
        chosen = {name: self.cleaned_data[name] for name in DataClass.values}
        return {"regions": {name: regions for name, regions in chosen.items() if regions}}

    @staticmethod
    def values_of(terms: Mapping[str, Json]) -> dict[str, object]:
        regions = terms["regions"]
        return {**regions} if isinstance(regions, dict) else {}


class ImagesForm(RuleForm):
    patterns = forms.CharField(
        label="Registries and names",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="One a line; * stands for anything, such as registry.example/ml/*.",
    )
    digests = forms.CharField(
        required=False, widget=forms.Textarea(attrs={"rows": 2}), help_text="One a line: sha256: and 64 digits."
    )
    pinned = forms.BooleanField(label="Only by digest, never by tag", required=False)

    def terms(self) -> dict[str, Json]:
        data = self.cleaned_data
        return {"patterns": _lines(data["patterns"]), "digests": _lines(data["digests"]), "pinned": data["pinned"]}

    @staticmethod
    def values_of(terms: Mapping[str, Json]) -> dict[str, object]:
        return {**terms, "patterns": _as_lines(terms["patterns"]), "digests": _as_lines(terms["digests"])}


class AcceleratorsForm(RuleForm):
    models = forms.MultipleChoiceField(
        label="Allowed", required=False, widget=forms.CheckboxSelectMultiple, help_text="None chosen: none at all."
    )

    def offer(self, choices: Choices) -> None:
        field = self.fields["models"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(model, model) for model in choices.models]

    def terms(self) -> dict[str, Json]:
        return {"models": self.cleaned_data["models"]}


class CapacityKindsForm(RuleForm):
    kinds = forms.MultipleChoiceField(label="Allowed", choices=_CAPACITY, widget=forms.CheckboxSelectMultiple)

    def terms(self) -> dict[str, Json]:
        return {"kinds": self.cleaned_data["kinds"]}


class SpanForm(RuleForm):
    amount = forms.IntegerField(label="After", min_value=1, max_value=600_000)
    unit = forms.ChoiceField(choices=_UNITS, initial="3600")

    def terms(self) -> dict[str, Json]:
        return {"seconds": self.cleaned_data["amount"] * int(self.cleaned_data["unit"])}

    @staticmethod
    def values_of(terms: Mapping[str, Json]) -> dict[str, object]:
        seconds = terms["seconds"]
        assert isinstance(seconds, int)
        unit = next(size for size in (86_400, 3600, 60, 1) if seconds % size == 0)
        return {"amount": seconds // max(unit, 60), "unit": str(max(unit, 60))}


class ApprovalAboveForm(RuleForm):
    accelerators = forms.IntegerField(
        label="Accelerators above", required=False, min_value=0, max_value=1_000_000, help_text="Of one launch."
    )
    price = forms.DecimalField(label="Price per hour above", required=False, min_value=0, max_digits=12)
    four_eyes = forms.BooleanField(label="Two people must agree", required=False)

    def offer(self, choices: Choices) -> None:
        self.fields["price"].help_text = f"In {choices.currency}, its disk included."

    def clean(self) -> None:
        super().clean()
        if self.cleaned_data.get("accelerators") is None and self.cleaned_data.get("price") is None:
            self.add_error("accelerators", "Give a number of accelerators, a price, or both.")

    def terms(self) -> dict[str, Json]:
        data, price = self.cleaned_data, self.cleaned_data["price"]
        return {
            "accelerators": data["accelerators"],
            "price_per_hour": None if price is None else {"amount": f"{price:f}", "currency": self.choices.currency},
            "four_eyes": data["four_eyes"],
        }

    @staticmethod
    def values_of(terms: Mapping[str, Json]) -> dict[str, object]:
        price = terms["price_per_hour"]
        return {**terms, "price": Decimal(str(price["amount"])) if isinstance(price, dict) else None}


class PublicEndpointsForm(RuleForm):
    allowed = forms.BooleanField(label="Allow what can be reached without signing in", required=False)

    def terms(self) -> dict[str, Json]:
        return {"allowed": self.cleaned_data["allowed"]}


class EgressForm(RuleForm):
    hosts = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="One a line, such as *.data.example. Empty: work reaches nothing outside.",
    )

    def terms(self) -> dict[str, Json]:
        return {"hosts": _lines(self.cleaned_data["hosts"])}

    @staticmethod
    def values_of(terms: Mapping[str, Json]) -> dict[str, object]:
        return {"hosts": _as_lines(terms["hosts"])}


class RequiredLabelsForm(RuleForm):
    labels = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="One a line: cost-centre for any value, or cost-centre = CC-1, CC-2 for one of these.",
    )

    def terms(self) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for line in _words(self.cleaned_data["labels"]):
            name, _, values = line.partition("=")
            found[name.strip()] = [value.strip() for value in values.split(",") if value.strip()]
        return {"labels": found}

    @staticmethod
    def values_of(terms: Mapping[str, Json]) -> dict[str, object]:
        labels = terms["labels"]
        assert isinstance(labels, dict)
        lines = [f"{name} = {', '.join(map(str, values))}" if values else name for name, values in labels.items()]  # type: ignore[arg-type]
        return {"labels": "\n".join(lines)}


class ChangeApprovalForm(RuleForm):
    change = forms.ChoiceField(label="What changes", choices=ChangeKind.choices)
    above = forms.DecimalField(label="By more than", min_value=0, max_digits=18, decimal_places=6)
    resource = forms.ChoiceField(
        label="Which quota", required=False, choices=[("", "any"), *Resource.choices], help_text="For quotas alone."
    )
    four_eyes = forms.BooleanField(label="Two people must agree", required=False)

    def offer(self, choices: Choices) -> None:
        self.fields["above"].help_text = f"Units of a quota; {choices.currency} for a price or credit."

    def terms(self) -> dict[str, Json]:
        data = self.cleaned_data
        is_quota = data["change"] == ChangeKind.QUOTA
        return {
            "change": data["change"],
            "above": f"{data['above']:f}",
            "currency": None if is_quota else self.choices.currency,
            "resource": (data["resource"] or None) if is_quota else None,
            "four_eyes": data["four_eyes"],
        }


FORMS: Mapping[str, type[RuleForm]] = {
    PolicyKind.REGIONS: RegionsForm,
    PolicyKind.IMAGES: ImagesForm,
    PolicyKind.ACCELERATORS: AcceleratorsForm,
    PolicyKind.CAPACITY_KINDS: CapacityKindsForm,
    PolicyKind.MAX_LIFETIME: SpanForm,
    PolicyKind.IDLE_STOP: SpanForm,
    PolicyKind.APPROVAL_ABOVE: ApprovalAboveForm,
    PolicyKind.PUBLIC_ENDPOINTS: PublicEndpointsForm,
    PolicyKind.EGRESS: EgressForm,
    PolicyKind.REQUIRED_LABELS: RequiredLabelsForm,
    PolicyKind.CHANGE_APPROVAL: ChangeApprovalForm,
}


def _words(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _lines(text: str) -> list[Json]:
    return [*_words(text)]


def _as_lines(value: Json) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else ""
