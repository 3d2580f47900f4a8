from django.db import migrations

from core.rls import GlobalTable, TenantTable

NEVER_CHANGES = """
CREATE FUNCTION billing_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'Rows of % are never changed nor deleted.', TG_TABLE_NAME USING ERRCODE = 'SY002';
END $$
"""

SUMS_TO_ZERO = """
CREATE FUNCTION billing_sums_to_zero() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  wrong text;
BEGIN
  SELECT currency INTO wrong FROM billing_ledgerentry WHERE transaction_id = NEW.transaction_id
  GROUP BY currency HAVING sum(amount) <> 0 LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'The entries of a ledger transaction do not sum to zero in %.', wrong USING ERRCODE = 'SY004';
  END IF;
  IF EXISTS (SELECT FROM billing_ledgeraccount a WHERE a.id = NEW.account_id AND a.currency <> NEW.currency) THEN
    RAISE EXCEPTION 'A ledger entry is in its account''s currency.' USING ERRCODE = 'SY004';
  END IF;
  RETURN NULL;
END $$
"""

NOT_OVERDRAWN = """
CREATE FUNCTION billing_grant_not_overdrawn() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  given numeric;
  used numeric;
BEGIN
  SELECT amount INTO given FROM billing_creditgrant WHERE id = NEW.grant_id;
  SELECT sum(amount) INTO used FROM billing_credituse WHERE grant_id = NEW.grant_id;
  IF used < 0 OR used > given THEN
    RAISE EXCEPTION 'No more is used of a grant than was given.' USING ERRCODE = 'SY004';
  END IF;
  RETURN NULL;
END $$
"""

FROZEN = (
    "ledgertransaction",
    "ledgerentry",
    "creditgrant",
    "credituse",
    "seller",
    "taxrate",
    "billingprofile",
    "invoicedocument",
    "payment",
    "writeoff",
    "invoicefile",
)


def trigger(name, event, table, function, *, deferred=False):
    how = "CONSTRAINT TRIGGER" if deferred else "TRIGGER"
    when = "DEFERRABLE INITIALLY DEFERRED " if deferred else ""
    return migrations.RunSQL(
        f"CREATE {how} {name} {event} ON billing_{table} {when}FOR EACH ROW EXECUTE FUNCTION {function}()",
        f"DROP TRIGGER {name} ON billing_{table}",
    )


class Migration(migrations.Migration):
    dependencies = [("billing", "0003_add_ledger_and_invoices"), ("core", "0002_isolate_tenants")]

    operations = [
        GlobalTable("Seller"),
        GlobalTable("TaxRate"),
        TenantTable("LedgerAccount"),
        TenantTable("LedgerTransaction", insert_only=True),
        TenantTable("LedgerEntry", audited=(), insert_only=True),
        TenantTable("BillingProfile", audited=(), insert_only=True),
        TenantTable("InvoiceSeries"),
        TenantTable("InvoiceDocument", audited=(), insert_only=True),
        TenantTable("InvoiceStanding"),
        TenantTable("InvoiceFile", insert_only=True),
        TenantTable("InvoiceHold"),
        TenantTable("Payment", audited=(), insert_only=True),
        TenantTable("WriteOff", audited=(), insert_only=True),
        TenantTable("CreditGrant", audited=(), insert_only=True),
        TenantTable("CreditUse", audited=(), insert_only=True),
        migrations.RunSQL(NEVER_CHANGES, "DROP FUNCTION billing_never_changes() CASCADE"),
        *(trigger("never_changes", "BEFORE UPDATE OR DELETE", table, "billing_never_changes") for table in FROZEN),
        migrations.RunSQL(SUMS_TO_ZERO, "DROP FUNCTION billing_sums_to_zero() CASCADE"),
        trigger("sums_to_zero", "AFTER INSERT", "ledgerentry", "billing_sums_to_zero", deferred=True),
        migrations.RunSQL(NOT_OVERDRAWN, "DROP FUNCTION billing_grant_not_overdrawn() CASCADE"),
        trigger("not_overdrawn", "AFTER INSERT", "credituse", "billing_grant_not_overdrawn", deferred=True),
    ]
