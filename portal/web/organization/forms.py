"""The forms of the organisation's pages."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django import forms

from portal.web.organization.asking import role_choices
from tenants.enums import DataClass, Environment

ENVIRONMENTS = [
    (Environment.DEVELOPMENT, "Development"),
    (Environment.STAGING, "Staging"),
    (Environment.PRODUCTION, "Production"),
]
SLUG_HELP = "In addresses and names outside, for ever. Lower-case letters, digits and hyphens."


class Chooser(forms.Form):
    """A form whose choices depend on who looks: `choices` by the field's name."""

    def __init__(self, *args: object, choices: dict[str, list[Any]] | None = None, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        for name, options in (choices or {}).items():
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = options

    @property
    def choices_known(self) -> bool:
        """Whether there is any place to choose: for one without the right there is none, and no form."""
        field = self.fields["place"]
        assert isinstance(field, forms.ChoiceField)
        return any(True for _ in field.widget.choices)


class SettingsForm(forms.Form):
    name = forms.CharField(max_length=120)
    time_zone = forms.ChoiceField(
        choices=[(zone, zone) for zone in sorted(available_timezones()) if "/" in zone or zone == "UTC"],
        help_text="Months of usage and invoices begin and end in it. A change counts from the next month.",
    )


class InviteForm(Chooser):
    email = forms.EmailField(label="E-mail address", widget=forms.EmailInput(attrs={"autocomplete": "off"}))
    place = forms.ChoiceField(label="Where")
    role = forms.ChoiceField(choices=role_choices, initial="developer")


class GiveForm(Chooser):
    place = forms.ChoiceField(label="Where")
    role = forms.ChoiceField(choices=role_choices, initial="developer")


class TeamForm(forms.Form):
    name = forms.CharField(max_length=120)
    slug = forms.SlugField(max_length=40, help_text=SLUG_HELP)


class TeamNameForm(forms.Form):
    name = forms.CharField(max_length=120)


class ProjectForm(Chooser):
    name = forms.CharField(max_length=120)
    slug = forms.SlugField(max_length=40, help_text=SLUG_HELP)
    environment = forms.ChoiceField(choices=ENVIRONMENTS)
    data_class = forms.ChoiceField(choices=DataClass.choices, initial=DataClass.INTERNAL, label="Data class")
    cost_centre = forms.CharField(max_length=40, required=False, label="Cost centre")
    team = forms.ChoiceField(required=False)


class ProjectFactsForm(Chooser):
    name = forms.CharField(max_length=120)
    environment = forms.ChoiceField(choices=ENVIRONMENTS)
    data_class = forms.ChoiceField(
        choices=DataClass.choices, label="Data class", help_text="The organisation's admins alone lower it."
    )
    cost_centre = forms.CharField(max_length=40, required=False, label="Cost centre")
    team = forms.ChoiceField(required=False, help_text="Roles on the team hold on the project too.")


class ServiceAccountForm(forms.Form):
    name = forms.CharField(max_length=60, help_text="What acts under it, such as “nightly training”.")
    description = forms.CharField(max_length=200, required=False)


class TransferForm(Chooser):
    to = forms.ChoiceField(label="New owner")
    then = forms.ChoiceField(label="You become", initial="admin")
    confirmed = forms.CharField(
        label="Slug of the organisation", max_length=40, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    password = forms.CharField(
        label="Your password", widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


class CloseForm(forms.Form):
    confirmed = forms.CharField(
        label="Slug of the organisation", max_length=40, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    password = forms.CharField(
        label="Your password", widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


class JoinForm(forms.Form):
    full_name = forms.CharField(
        label="Your name", max_length=120, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    password = forms.CharField(
        help_text="At least 12 letters.", widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )
