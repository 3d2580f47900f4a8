from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0015_keep_what_leaks")]

    operations = [
        migrations.AddField("Node", "occupied", models.JSONField(default=list)),
    ]
