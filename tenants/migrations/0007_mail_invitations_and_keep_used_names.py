from django.db import migrations, models
from django.db.models import Q

from core.ids import uuid7
from core.rls import DefinerFunction


def keep_used_names(apps, _schema_editor):
    """The names that stand outside already: each organisation's, and the namespace of each of its projects."""
    used_name = apps.get_model("tenants", "UsedName")
    rows = [
        *apps.get_model("tenants", "Organization").objects.values_list("id", "slug", "created_at"),
        *(
            (organization, f"{of}-{slug}", at)
            for organization, of, slug, at in apps.get_model("tenants", "Project").objects.values_list(
                "organization_id", "organization__slug", "slug", "created_at"
            )
        ),
    ]
    used_name.objects.bulk_create(
        [
            used_name(id=uuid7(), organization_id=organization, name=name, used_from=at)
            for organization, name, at in sorted(rows, key=lambda row: row[2])
        ],
        ignore_conflicts=True,
    )


class Migration(migrations.Migration):
    dependencies = [("tenants", "0006_isolate_sign_in")]

    operations = [
        migrations.AddField(
            "Invitation", "mail_secret", models.TextField(blank=True, default=""), preserve_default=False
        ),
        migrations.AddField("Invitation", "mail_due_at", models.DateTimeField(null=True)),
        migrations.AddField("Invitation", "mailed_at", models.DateTimeField(null=True)),
        migrations.AddField(
            "Invitation", "mail_error", models.CharField(blank=True, default="", max_length=200), preserve_default=False
        ),
        migrations.AddIndex(
            "Invitation",
            models.Index(fields=["mail_due_at"], name="invitation_mail_due", condition=Q(mail_due_at__isnull=False)),
        ),
        DefinerFunction(
            "steelyard_invitations_to_mail",
            arguments="instant timestamptz",
            returns="TABLE (organization_id uuid, invitation_id uuid)",
            body=(
                "SELECT i.organization_id, i.id FROM tenants_invitation i"
                " WHERE i.mail_due_at <= instant ORDER BY i.mail_due_at LIMIT 200"
            ),
        ),
        migrations.RunPython(keep_used_names, migrations.RunPython.noop),
    ]
