from django.db import migrations

from core.rls import SealOnce, TenantTable

CLOSE_ONCE = """
CREATE FUNCTION billing_close_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'Usage sessions are never deleted.' USING ERRCODE = 'SY002';
  END IF;
  IF NOT upper_inf(OLD.during) OR upper_inf(NEW.during) OR lower(OLD.during) IS DISTINCT FROM lower(NEW.during)
     OR to_jsonb(OLD) - 'during' IS DISTINCT FROM to_jsonb(NEW) - 'during' THEN
    RAISE EXCEPTION 'A usage session changes once, from open to closed.' USING ERRCODE = 'SY002';
  END IF;
  RETURN NEW;
END $$
"""

PERIOD_STAYS = """
CREATE FUNCTION billing_period_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'Billing periods are never deleted.' USING ERRCODE = 'SY002';
  END IF;
  IF OLD.state = 'closed' OR to_jsonb(OLD) - 'state' IS DISTINCT FROM to_jsonb(NEW) - 'state' THEN
    RAISE EXCEPTION 'A billing period changes once, from open to closed.' USING ERRCODE = 'SY002';
  END IF;
  RETURN NEW;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("billing", "0001_initial"), ("tenants", "0002_isolate_tenants"), ("core", "0002_isolate_tenants")]

    operations = [
        migrations.RunSQL(
            "REVOKE INSERT, UPDATE, DELETE ON billing_sku, billing_pricebook, billing_price FROM steelyard_app;"
            " REVOKE UPDATE, DELETE ON billing_pricebook FROM steelyard_platform;"
            " REVOKE DELETE ON billing_sku, billing_price FROM steelyard_platform",
            migrations.RunSQL.noop,
        ),
        SealOnce("Price", columns=["valid_to"]),
        TenantTable("BillingPeriod"),
        TenantTable("UsageSession"),
        migrations.RunSQL(CLOSE_ONCE, "DROP FUNCTION billing_close_once() CASCADE"),
        migrations.RunSQL(
            "CREATE TRIGGER close_once BEFORE UPDATE OR DELETE ON billing_usagesession FOR EACH ROW"
            " EXECUTE FUNCTION billing_close_once()",
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(PERIOD_STAYS, "DROP FUNCTION billing_period_stays() CASCADE"),
        migrations.RunSQL(
            "CREATE TRIGGER period_stays BEFORE UPDATE OR DELETE ON billing_billingperiod FOR EACH ROW"
            " EXECUTE FUNCTION billing_period_stays()",
            migrations.RunSQL.noop,
        ),
    ]
