from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0009_keep_the_inventory_of_clusters")]

    operations = [
        migrations.AlterField("Image", "reference", models.CharField(max_length=200, blank=True)),
        migrations.AddField("Image", "oci_reference", models.CharField(max_length=300, default="", blank=True)),
    ]
