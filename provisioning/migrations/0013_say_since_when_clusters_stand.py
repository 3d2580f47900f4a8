from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0012_run_jobs")]

    operations = [
        migrations.AddField("Cluster", "standing_since", models.DateTimeField(null=True, blank=True)),
    ]
