import django.db.models.deletion
from django.db import migrations, models

import core.ids
from core.rls import TenantTable


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0018_run_arrays")]

    operations = [
        migrations.CreateModel(
            name="ClusterEvent",
            fields=[
                ("id", models.UUIDField(default=core.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("uid", models.CharField(max_length=64)),
                ("at", models.DateTimeField()),
                ("about", models.CharField(max_length=300)),
                ("reason", models.CharField(max_length=120)),
                ("message", models.TextField()),
                ("warning", models.BooleanField(default=False)),
                ("count", models.PositiveIntegerField(default=1)),
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
                        related_name="cluster_events",
                        to="provisioning.workload",
                    ),
                ),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("workload", "uid"), name="cluster_event_once")]},
        ),
        TenantTable("ClusterEvent"),
    ]
