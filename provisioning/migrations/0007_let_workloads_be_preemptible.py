from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0006_find_what_waits")]

    operations = [migrations.AddField("Workload", "preemptible", models.BooleanField(default=False))]
