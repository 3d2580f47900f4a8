import django.contrib.postgres.constraints
import django.contrib.postgres.fields.ranges
import django.db.models.deletion
from django.db import migrations, models

import core.ids
from core.rls import GlobalTable

CLOSE_ONCE = """
CREATE FUNCTION provisioning_capacity_closes_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'Capacity intervals are never deleted.' USING ERRCODE = 'SY002';
  END IF;
  IF NOT upper_inf(OLD.during) OR upper_inf(NEW.during) OR lower(OLD.during) IS DISTINCT FROM lower(NEW.during)
     OR to_jsonb(OLD) - 'during' IS DISTINCT FROM to_jsonb(NEW) - 'during' THEN
    RAISE EXCEPTION 'A capacity interval changes once, from open to closed.' USING ERRCODE = 'SY002';
  END IF;
  RETURN NEW;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [
        ("provisioning", "0008_let_workloads_be_preemptible"),
    ]

    operations = [
        migrations.AddField(
            model_name="cluster",
            name="inventory_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.CreateModel(
            name="Node",
            fields=[
                ("id", models.UUIDField(default=core.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("uid", models.CharField(max_length=64)),
                ("name", models.CharField(max_length=253)),
                ("allocatable", models.JSONField()),
                ("topology", models.JSONField(default=dict)),
                (
                    "standing",
                    models.CharField(
                        choices=[
                            ("in_service", "in service"),
                            ("degraded", "degraded"),
                            ("cordoned", "cordoned"),
                            ("unhealthy", "unhealthy"),
                            ("not_ready", "not ready"),
                        ],
                        max_length=12,
                    ),
                ),
                ("reason", models.TextField(blank=True, default="")),
                ("seen_at", models.DateTimeField()),
                ("gone_at", models.DateTimeField(blank=True, null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="nodes",
                        to="provisioning.cluster",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="CapacityInterval",
            fields=[
                ("id", models.UUIDField(default=core.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("accelerator_model", models.CharField(max_length=80)),
                ("sharing", models.CharField(max_length=40)),
                ("count", models.PositiveIntegerField()),
                ("during", django.contrib.postgres.fields.ranges.DateTimeRangeField()),
                (
                    "cluster",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="provisioning.cluster",
                    ),
                ),
                (
                    "node",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="intervals",
                        to="provisioning.node",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="node",
            constraint=models.UniqueConstraint(fields=("cluster", "uid"), name="node_once_per_cluster"),
        ),
        migrations.AddIndex(
            model_name="capacityinterval",
            index=models.Index(
                condition=models.Q(("during__upper_inf", True)), fields=["cluster"], name="capacity_interval_open"
            ),
        ),
        migrations.AddConstraint(
            model_name="capacityinterval",
            constraint=models.CheckConstraint(
                condition=models.Q(("count__gt", 0)), name="capacity_interval_of_something"
            ),
        ),
        migrations.AddConstraint(
            model_name="capacityinterval",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("during__isempty", False),
                    ("during__lower_inc", True),
                    ("during__upper_inc", False),
                    ("during__lower_inf", False),
                ),
                name="capacity_interval_half_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="capacityinterval",
            constraint=django.contrib.postgres.constraints.ExclusionConstraint(
                expressions=[("node", "="), ("accelerator_model", "="), ("sharing", "="), ("during", "&&")],
                name="capacity_interval_no_overlap",
            ),
        ),
        GlobalTable("Node"),
        GlobalTable("CapacityInterval"),
        migrations.RunSQL(CLOSE_ONCE, "DROP FUNCTION provisioning_capacity_closes_once() CASCADE"),
        migrations.RunSQL(
            "CREATE TRIGGER close_once BEFORE UPDATE OR DELETE ON provisioning_capacityinterval FOR EACH ROW"
            " EXECUTE FUNCTION provisioning_capacity_closes_once()",
            migrations.RunSQL.noop,
        ),
    ]
