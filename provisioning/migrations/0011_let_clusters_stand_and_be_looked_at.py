from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("provisioning", "0010_name_images_as_registries_do")]

    operations = [
        migrations.AddField(
            "Cluster",
            "standing",
            models.CharField(
                choices=[
                    ("serving", "serving"),
                    ("cordoned", "cordoned"),
                    ("draining", "draining"),
                    ("removed", "removed"),
                ],
                default="serving",
                max_length=12,
            ),
        ),
        migrations.AddField(
            "Cluster",
            "health",
            models.CharField(
                choices=[
                    ("unknown", "unknown"),
                    ("healthy", "healthy"),
                    ("degraded", "degraded"),
                    ("unauthorized", "unauthorized"),
                    ("unreachable", "unreachable"),
                ],
                default="unknown",
                max_length=12,
            ),
        ),
        migrations.AddField("Cluster", "health_reason", models.JSONField(null=True, blank=True)),
        migrations.AddField("Cluster", "version", models.CharField(max_length=40, default="", blank=True)),
        migrations.AddField("Cluster", "offers", models.JSONField(default=dict)),
        migrations.AddField("Cluster", "checked_at", models.DateTimeField(null=True, blank=True)),
    ]
