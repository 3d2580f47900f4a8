import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

import core.ids
from core.rls import DefinerFunction, TenantTable


class Migration(migrations.Migration):
    dependencies = [("tenants", "0014_count_lone_raises_of_quotas_together")]

    operations = [
        migrations.CreateModel(
            name="ApprovalLetter",
            fields=[
                ("id", models.UUIDField(default=core.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("person_id", models.UUIDField()),
                (
                    "about",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("approved", "Approved"),
                            ("refused", "Refused"),
                            ("expired", "Expired"),
                            ("voided", "Voided"),
                        ],
                        max_length=10,
                    ),
                ),
                ("due_at", models.DateTimeField(null=True)),
                ("mailed_at", models.DateTimeField(null=True)),
                ("error", models.CharField(blank=True, max_length=200)),
                (
                    "approval",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="letters", to="tenants.approval"
                    ),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.organization",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("organization", "approval", "about", "person_id"), name="approval_letter_once"
                    ),
                ],
                "indexes": [
                    models.Index(fields=["due_at"], name="approval_letter_due", condition=Q(due_at__isnull=False))
                ],
            },
        ),
        TenantTable("ApprovalLetter"),
        DefinerFunction(
            "steelyard_letters_to_mail",
            arguments="instant timestamptz",
            returns="TABLE (organization_id uuid, letter_id uuid)",
            body=(
                "SELECT l.organization_id, l.id FROM tenants_approvalletter l"
                " WHERE l.due_at <= instant ORDER BY l.due_at LIMIT 200"
            ),
        ),
    ]
