"""Serializers that several outputs share. Outputs describe the schema; answers are built as plain dicts."""

from __future__ import annotations

from rest_framework import serializers


class ReferenceOutput(serializers.Serializer[object]):
    """Another object: its id, and the name that it bears in lists."""

    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]


class MoneyOutput(serializers.Serializer[object]):
    amount = serializers.CharField(help_text="A decimal number as text.")
    currency = serializers.CharField(help_text="ISO 4217.")


class ReasonOutput(serializers.Serializer[object]):
    code = serializers.CharField()
    message = serializers.CharField()
    resource = serializers.CharField(required=False)
    asked = serializers.IntegerField(required=False)
    used = serializers.IntegerField(required=False)
    limit = serializers.IntegerField(required=False)
    ask = serializers.CharField(required=False)
    level = serializers.CharField(
        required=False, help_text="Of a quota: organization, team, project or user, whose limit it is."
    )
    rule = serializers.CharField(required=False, help_text="The policy that says so.")


class FieldErrorOutput(serializers.Serializer[object]):
    field = serializers.CharField(allow_blank=True)
    code = serializers.CharField()
    message = serializers.CharField()


class ProblemOutput(serializers.Serializer[object]):
    """RFC 9457."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField()
    instance = serializers.CharField()
    errors = FieldErrorOutput(many=True, required=False)  # type: ignore[assignment]
    reasons = ReasonOutput(many=True, required=False)
    permission = serializers.CharField(required=False)
