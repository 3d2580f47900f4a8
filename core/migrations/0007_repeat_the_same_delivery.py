from django.db import migrations, models

from core.rls import DefinerFunction


class Migration(migrations.Migration):
    dependencies = [("core", "0006_find_audit_entries")]

    operations = [
        migrations.AddField("auditstream", "sending", models.BigIntegerField(null=True)),
        DefinerFunction(
            "steelyard_due_audit_streams",
            arguments="at timestamptz",
            returns="TABLE (organization_id uuid, stream_id uuid)",
            body="SELECT s.organization_id, s.id FROM core_auditstream s"
            " WHERE s.enabled AND s.paused_reason = '' AND s.due_at <= at"
            " AND (s.lease_until IS NULL OR s.lease_until <= at) AND EXISTS"
            " (SELECT FROM core_auditevent e WHERE e.organization_id = s.organization_id AND e.seq > s.cursor)",
        ),
    ]
