from django.db import migrations

from core.scope import PLATFORM_ROLE


class Migration(migrations.Migration):
    """What people wrote into requests names people: the platform takes that out when one of them is erased."""

    dependencies = [("tenants", "0015_mail_about_approvals")]

    operations = [
        migrations.RunSQL(
            [
                f"GRANT UPDATE (subject_label, justification, payload) ON tenants_approval TO {PLATFORM_ROLE}",
                f"GRANT UPDATE (comment) ON tenants_approvaldecision TO {PLATFORM_ROLE}",
            ],
            [
                f"REVOKE UPDATE (subject_label, justification, payload) ON tenants_approval FROM {PLATFORM_ROLE}",
                f"REVOKE UPDATE (comment) ON tenants_approvaldecision FROM {PLATFORM_ROLE}",
            ],
        ),
    ]
