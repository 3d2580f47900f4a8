import django.db.models.deletion
from django.db import migrations, models

import core.ids
from core.rls import TenantTable

OUTCOMES = [(word, word) for word in ("running", "succeeded", "failed", "interrupted", "stopped")]


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0011_let_clusters_stand_and_be_looked_at")]

    operations = [
        migrations.AddField("Workload", "failures", models.PositiveIntegerField(default=0)),
        migrations.AddField("Workload", "replicas", models.PositiveIntegerField(default=1)),
        migrations.AddField("Workload", "retry_at", models.DateTimeField(null=True)),
        migrations.AlterField(
            "Workload",
            "kind",
            models.CharField(choices=[("workspace", "workspace"), ("job", "job")], max_length=12),
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                ("id", models.UUIDField(default=core.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                ("incarnation", models.CharField(max_length=64)),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("outcome", models.CharField(choices=OUTCOMES, default="running", max_length=12)),
                ("exit_code", models.IntegerField(null=True)),
                ("reason", models.JSONField(null=True)),
                ("log", models.JSONField(default=list)),
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
                    "workload",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="attempts",
                        to="provisioning.workload",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("workload", "number"), name="attempt_numbered_once"),
                    models.UniqueConstraint(fields=("workload", "incarnation"), name="attempt_of_one_run"),
                ],
            },
        ),
        TenantTable("Attempt"),
    ]
