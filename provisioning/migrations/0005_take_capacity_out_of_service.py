from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0004_name_the_policies_that_limit")]

    operations = [migrations.AddField("Cluster", "out_of_service", models.JSONField(default=dict))]
