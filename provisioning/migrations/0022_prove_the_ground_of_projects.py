from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0021_count_changes_of_clusters")]

    operations = [
        migrations.AddField("Cluster", "ground", models.JSONField(default=dict)),
        migrations.AddField("Cluster", "ground_at", models.DateTimeField(blank=True, null=True)),
    ]
