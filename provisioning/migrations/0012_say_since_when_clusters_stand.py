from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0011_let_clusters_stand_and_be_looked_at")]

    operations = [
        migrations.AddField("Cluster", "standing_since", models.DateTimeField(null=True, blank=True)),
    ]
