import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import core.ids
from core.rls import TenantTable


class Migration(migrations.Migration):
    dependencies = [("tenants", "0008_add_approvals")]

    operations = [
        migrations.CreateModel(
            name="Impersonation",
            fields=[
                ("id", models.UUIDField(default=core.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("reason", models.CharField(max_length=300)),
                ("started_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "operator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
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
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("ends_at__gt", models.F("started_at"))), name="impersonation_ends"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("operator", models.F("person")), _negated=True),
                        name="impersonation_of_another",
                    ),
                ],
            },
        ),
        TenantTable("Impersonation", audited=["ended_at"]),
    ]
