import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

from core.rls import AuditedColumns, DefinerFunction, TenantKeys

HOLDS_STAND_ALONE = """
    UPDATE tenants_quotahold h SET project_id = q.project_id, resource = q.resource, in_use_from = h.held_from
    FROM tenants_quota q WHERE q.id = h.quota_id
"""
DRIFT = """
    SELECT q.organization_id, q.id FROM tenants_quota q CROSS JOIN LATERAL (
        SELECT COALESCE(sum(h.amount), 0) AS held FROM tenants_quotahold h JOIN tenants_project p ON p.id = h.project_id
        WHERE h.organization_id = q.organization_id AND h.resource = q.resource
            AND (q.project_id IS NULL OR h.project_id = q.project_id)
            AND (q.team_id IS NULL OR p.team_id = q.team_id)
            AND (q.user_id IS NULL OR h.owner_id = q.user_id)
    ) held WHERE q.used <> held.held ORDER BY q.organization_id, q.id LIMIT most
"""


class Migration(migrations.Migration):
    dependencies = [("tenants", "0009_add_impersonations")]

    operations = [
        migrations.AddField(
            "Quota",
            "team",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="quotas",
                to="tenants.team",
            ),
        ),
        migrations.AddField(
            "Quota",
            "user",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AlterField(
            "Quota",
            "project",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="quotas",
                to="tenants.project",
            ),
        ),
        migrations.AddField("Quota", "borrow_limit", models.PositiveBigIntegerField(default=0)),
        migrations.AddField("Quota", "lend_limit", models.PositiveBigIntegerField(null=True)),
        migrations.AddField("Quota", "raised_until", models.DateTimeField(null=True)),
        migrations.AddField("Quota", "falls_to", models.PositiveBigIntegerField(null=True)),
        migrations.RemoveConstraint("Quota", "quota_once"),
        migrations.AddConstraint(
            "Quota",
            models.UniqueConstraint(
                fields=["organization", "team", "project", "user", "resource"],
                name="quota_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            "Quota",
            models.CheckConstraint(
                name="quota_on_one_place",
                condition=Q(team__isnull=True, project__isnull=True)
                | Q(team__isnull=True, user__isnull=True)
                | Q(project__isnull=True, user__isnull=True),
            ),
        ),
        migrations.AddConstraint(
            "Quota",
            models.CheckConstraint(
                name="quota_siblings_alone_share",
                condition=Q(team__isnull=False) | Q(project__isnull=False) | Q(borrow_limit=0, lend_limit__isnull=True),
            ),
        ),
        migrations.AddConstraint(
            "Quota",
            models.CheckConstraint(
                name="quota_raise_falls_back",
                condition=Q(raised_until__isnull=True, falls_to__isnull=True)
                | Q(raised_until__isnull=False, falls_to__isnull=False),
            ),
        ),
        migrations.AddIndex(
            "Quota",
            models.Index(
                fields=["organization", "resource"],
                name="quota_that_shares",
                condition=Q(borrow_limit__gt=0) | Q(lend_limit__isnull=False),
            ),
        ),
        migrations.AddIndex(
            "Quota",
            models.Index(fields=["raised_until"], name="quota_raised", condition=Q(raised_until__isnull=False)),
        ),
        migrations.AddField(
            "QuotaHold", "resource", models.CharField(default="", max_length=60), preserve_default=False
        ),
        migrations.AddField(
            "QuotaHold",
            "project",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="holds",
                to="tenants.project",
            ),
        ),
        migrations.AddField("QuotaHold", "in_use_from", models.DateTimeField(null=True)),
        migrations.RunSQL([HOLDS_STAND_ALONE, "SET CONSTRAINTS ALL IMMEDIATE"], migrations.RunSQL.noop),
        migrations.AlterField(
            "QuotaHold",
            "project",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="holds",
                to="tenants.project",
            ),
        ),
        migrations.RemoveConstraint("QuotaHold", "quota_hold_once"),
        migrations.RemoveIndex("QuotaHold", "quota_hold_by_holder"),
        migrations.RemoveField("QuotaHold", "quota"),
        migrations.AddConstraint(
            "QuotaHold",
            models.UniqueConstraint(
                fields=["organization", "holder_id", "holder_kind", "resource"], name="quota_hold_once"
            ),
        ),
        migrations.AddIndex(
            "QuotaHold",
            models.Index(fields=["organization", "project", "resource"], name="quota_hold_by_project"),
        ),
        TenantKeys("Quota", fields=["team"]),
        TenantKeys("QuotaHold", fields=["project"]),
        AuditedColumns("Quota", columns=["limit", "borrow_limit", "lend_limit", "raised_until"], before=["limit"]),
        DefinerFunction(
            "steelyard_quotas_that_drift",
            arguments="most integer",
            returns="TABLE (organization_id uuid, quota_id uuid)",
            body=DRIFT,
        ),
        DefinerFunction(
            "steelyard_quotas_raised_until",
            arguments="instant timestamptz, most integer",
            returns="TABLE (organization_id uuid, quota_id uuid)",
            body=(
                "SELECT q.organization_id, q.id FROM tenants_quota q WHERE q.raised_until <= instant"
                " ORDER BY q.raised_until, q.id LIMIT most"
            ),
        ),
    ]
