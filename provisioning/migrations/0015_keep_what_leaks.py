import django.db.models.deletion
from django.db import migrations, models

import core.ids
from core.rls import GlobalTable

_KINDS = ["run", "disk", "stuck", "bill"]
_ENDS = ["removed", "escaped", "closed", "gone"]


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0014_run_ray_clusters")]

    operations = [
        migrations.CreateModel(
            name="Leak",
            fields=[
                ("id", models.UUIDField(default=core.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("kind", models.CharField(choices=[(each, each) for each in _KINDS], max_length=8)),
                ("object", models.CharField(max_length=300)),
                ("told", models.JSONField(default=dict)),
                ("why", models.CharField(max_length=200)),
                ("since", models.DateTimeField(null=True)),
                ("sku_code", models.CharField(blank=True, default="", max_length=80)),
                ("units", models.PositiveIntegerField(default=0)),
                ("found_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "outcome",
                    models.CharField(blank=True, choices=[(each, each) for each in _ENDS], default="", max_length=8),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="provisioning.cluster",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at", None)),
                        fields=("cluster", "kind", "object"),
                        name="leak_open_once",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        GlobalTable("Leak"),
        migrations.RunSQL(
            'REVOKE SELECT ON "provisioning_leak" FROM steelyard_app',
            'GRANT SELECT ON "provisioning_leak" TO steelyard_app',
        ),
    ]
