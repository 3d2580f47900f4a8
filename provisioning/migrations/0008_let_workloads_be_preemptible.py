from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0007_find_what_waits")]

    operations = [migrations.AddField("Workload", "preemptible", models.BooleanField(default=False))]
