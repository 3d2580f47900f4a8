import django.db.models.deletion
from django.db import migrations, models

import core.ids
from core.rls import DefinerFunction, GlobalTable


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0005_take_capacity_out_of_service")]

    operations = [
        migrations.CreateModel(
            name="ClusterAccess",
            fields=[
                ("id", models.UUIDField(default=core.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("server", models.CharField(max_length=300)),
                ("ca_pem", models.TextField(blank=True, default="")),
                ("server_name", models.CharField(blank=True, default="", max_length=253)),
                ("secret", models.TextField()),
                ("storage_classes", models.JSONField(default=dict)),
                ("changed_at", models.DateTimeField()),
                (
                    "cluster",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="access",
                        to="provisioning.cluster",
                    ),
                ),
            ],
            options={"abstract": False},
        ),
        GlobalTable("ClusterAccess"),
        DefinerFunction(
            "steelyard_placed_on",
            arguments="cluster uuid",
            returns="TABLE (organization_id uuid, workload_id uuid)",
            body=(
                "SELECT w.organization_id, w.id FROM provisioning_workload w WHERE w.cluster_id = cluster"
                " AND w.state IN ('provisioning', 'running', 'stopping', 'deleting') ORDER BY w.id"
            ),
        ),
    ]
