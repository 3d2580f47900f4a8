import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0012_let_slugs_be_one_letter")]

    operations = [
        migrations.AddField(
            model_name="approval",
            name="behind",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.UUIDField(), blank=True, default=list, size=None
            ),
        ),
    ]
