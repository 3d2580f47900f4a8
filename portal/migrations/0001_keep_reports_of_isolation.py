import django.db.models.expressions
from django.db import migrations, models

import core.ids
from core.scope import APP_ROLE, PLATFORM_ROLE

TABLE = "portal_isolationreport"


class Migration(migrations.Migration):
    initial = True

    dependencies = [("core", "0002_isolate_tenants")]

    operations = [
        migrations.CreateModel(
            name="IsolationReport",
            fields=[
                ("id", models.UUIDField(default=core.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField()),
                ("version", models.CharField(max_length=40)),
                ("subject", models.CharField(max_length=40)),
                ("stranger", models.CharField(max_length=40)),
                ("asked", models.PositiveIntegerField()),
                ("held", models.PositiveIntegerField()),
                ("failed", models.PositiveIntegerField()),
                ("not_asked", models.PositiveIntegerField()),
                ("document", models.TextField()),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "asked",
                                django.db.models.expressions.CombinedExpression(
                                    models.F("held"), "+", models.F("failed")
                                ),
                            )
                        ),
                        name="isolation_report_adds_up",
                    )
                ],
            },
        ),
        migrations.RunSQL(
            [
                f'REVOKE ALL ON "{TABLE}" FROM {APP_ROLE}',
                f'REVOKE UPDATE, DELETE ON "{TABLE}" FROM {PLATFORM_ROLE}',
            ],
            migrations.RunSQL.noop,
        ),
    ]
