from django.db import migrations, models

KINDS = [(word, word) for word in ("jupyterlab", "ray", "dask")]


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0019_keep_what_clusters_say")]

    operations = [
        migrations.AlterField("Image", "kind", models.CharField(choices=KINDS, default="jupyterlab", max_length=20)),
    ]
