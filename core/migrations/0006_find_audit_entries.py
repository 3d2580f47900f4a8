from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("core", "0005_isolate_audit_tables")]

    operations = [
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(fields=["organization_id", "object_id"], name="audit_by_object_id"),
        ),
        migrations.RemoveIndex(model_name="auditevent", name="audit_by_object"),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(fields=["organization_id", "-at"], name="audit_by_time"),
        ),
    ]
