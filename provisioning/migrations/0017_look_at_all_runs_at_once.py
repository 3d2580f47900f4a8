from django.db import migrations, models

from core.rls import DefinerFunction

TO_PROBE = """
SELECT w.organization_id, w.id FROM provisioning_workload w
WHERE w.state = 'running' AND (w.probe_at IS NULL OR w.probe_at <= moment)
ORDER BY w.probe_at NULLS FIRST, w.id LIMIT most
"""


class Migration(migrations.Migration):
    """The function that named everything running stays: processes of the version before ask it until they are gone."""

    dependencies = [("provisioning", "0016_say_what_runs_on_a_node")]

    operations = [
        migrations.AddField("Workload", "mark", models.CharField(blank=True, default="", max_length=32)),
        migrations.AlterField("Workload", "mark", models.CharField(blank=True, max_length=32)),
        migrations.AddField("Workload", "probe_at", models.DateTimeField(null=True)),
        DefinerFunction(
            "steelyard_workloads_to_probe",
            arguments="moment timestamptz, most integer",
            returns="TABLE (organization_id uuid, workload_id uuid)",
            body=TO_PROBE,
        ),
    ]
