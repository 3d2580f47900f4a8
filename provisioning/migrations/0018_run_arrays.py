import django.db.models.deletion
from django.db import migrations, models

import core.ids
from core.rls import TenantTable

OUTCOMES = [(word, word) for word in ("waiting", "running", "succeeded", "failed", "interrupted", "stopped")]


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0017_look_at_all_runs_at_once")]

    operations = [
        migrations.AlterField(
            "Attempt", "outcome", models.CharField(choices=OUTCOMES, default="running", max_length=12)
        ),
        migrations.CreateModel(
            name="Task",
            fields=[
                ("id", models.UUIDField(default=core.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("index", models.PositiveIntegerField()),
                ("incarnation", models.CharField(max_length=64)),
                ("outcome", models.CharField(choices=OUTCOMES, default="running", max_length=12)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("exit_code", models.IntegerField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
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
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tasks",
                        to="provisioning.workload",
                    ),
                ),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("workload", "index"), name="task_once")]},
        ),
        TenantTable("Task"),
    ]
