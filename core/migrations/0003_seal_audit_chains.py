from django.db import migrations, models

from core.rls import DefinerFunction


class Migration(migrations.Migration):
    dependencies = [("core", "0002_isolate_tenants")]

    operations = [
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(
                fields=["organization_id", "id"],
                name="audit_unsealed",
                condition=models.Q(seq__isnull=True),
            ),
        ),
        DefinerFunction(
            "steelyard_unsealed_chains",
            arguments="",
            returns="SETOF uuid",
            body="SELECT DISTINCT organization_id FROM core_auditevent WHERE seq IS NULL",
        ),
    ]
