from django.db import migrations, models

KINDS = [(word, word) for word in ("workspace", "job", "cluster")]
IMAGES = [(word, word) for word in ("jupyterlab", "ray")]


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0013_say_since_when_clusters_stand")]

    operations = [
        migrations.AlterField("Workload", "kind", models.CharField(choices=KINDS, max_length=12)),
        migrations.AlterField("Image", "kind", models.CharField(choices=IMAGES, default="jupyterlab", max_length=20)),
    ]
