from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0006_reach_clusters_over_the_network")]

    operations = [
        migrations.AddIndex(
            "Workload", models.Index(fields=["id"], name="workload_requested", condition=Q(state="requested"))
        ),
    ]
