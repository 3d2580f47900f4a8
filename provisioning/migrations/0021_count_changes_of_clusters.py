from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0020_run_dask_clusters")]

    operations = [
        migrations.AddField(
            model_name="cluster",
            name="revision",
            field=models.PositiveIntegerField(default=1),
        ),
    ]
