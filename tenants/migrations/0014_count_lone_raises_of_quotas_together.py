from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0013_remember_who_stands_behind_a_request")]

    operations = [
        migrations.AddField(model_name="quota", name="agreed", field=models.PositiveBigIntegerField(null=True)),
    ]
