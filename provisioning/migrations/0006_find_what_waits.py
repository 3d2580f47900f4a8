from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0005_take_capacity_out_of_service")]

    operations = [
        migrations.AddIndex(
            "Workload", models.Index(fields=["id"], name="workload_requested", condition=Q(state="requested"))
        ),
    ]
