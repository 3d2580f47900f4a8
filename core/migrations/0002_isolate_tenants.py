from django.db import migrations

from core.rls import SealOnce, TenancyGround, TenantTable


class Migration(migrations.Migration):
    dependencies = [("core", "0001_initial")]

    operations = [
        TenancyGround(),
        TenantTable("AuditEvent"),
        SealOnce("AuditEvent", columns=["seq", "prev_hash", "hash"]),
        TenantTable("IdempotencyKey"),
    ]
