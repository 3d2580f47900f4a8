from django.db import migrations

from core.rls import DefinerFunction, TenantTable

_LEAVE_ONLY_BY_A_CUT = """
CREATE OR REPLACE FUNCTION steelyard_leave_by_cut() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.seq IS NULL OR NOT EXISTS (
    SELECT FROM core_auditcut WHERE organization_id = OLD.organization_id AND seq >= OLD.seq
  ) THEN
    RAISE EXCEPTION 'Rows of % leave by a recorded cut alone.', TG_TABLE_NAME USING ERRCODE = 'SY002';
  END IF;
  RETURN OLD;
END $$;
DROP TRIGGER seal_once ON core_auditevent;
CREATE TRIGGER seal_once BEFORE UPDATE ON core_auditevent FOR EACH ROW
  EXECUTE FUNCTION steelyard_seal_once('seq', 'prev_hash', 'hash');
CREATE TRIGGER leave_by_cut BEFORE DELETE ON core_auditevent FOR EACH ROW
  EXECUTE FUNCTION steelyard_leave_by_cut();
"""
_NEVER_LEAVE = """
DROP TRIGGER leave_by_cut ON core_auditevent;
DROP TRIGGER seal_once ON core_auditevent;
CREATE TRIGGER seal_once BEFORE UPDATE OR DELETE ON core_auditevent FOR EACH ROW
  EXECUTE FUNCTION steelyard_seal_once('seq', 'prev_hash', 'hash');
DROP FUNCTION steelyard_leave_by_cut();
"""


class Migration(migrations.Migration):
    dependencies = [("core", "0004_search_keep_and_stream_the_audit_log")]

    operations = [
        TenantTable("AuditCut", insert_only=True),
        TenantTable("AuditRetention", audited=["keep_days"]),
        TenantTable("AuditView", audited=["name", "query", "shared"]),
        TenantTable("AuditStream", audited=["name", "url", "secret", "enabled"]),
        migrations.RunSQL(_LEAVE_ONLY_BY_A_CUT, _NEVER_LEAVE),
        DefinerFunction(
            "steelyard_due_audit_streams",
            arguments="at timestamptz",
            returns="TABLE (organization_id uuid, stream_id uuid)",
            body="SELECT organization_id, id FROM core_auditstream"
            " WHERE enabled AND paused_reason = '' AND due_at <= at AND (lease_until IS NULL OR lease_until <= at)",
        ),
        DefinerFunction(
            "steelyard_audit_retentions",
            arguments="",
            returns="SETOF uuid",
            body="SELECT organization_id FROM core_auditretention",
        ),
    ]
