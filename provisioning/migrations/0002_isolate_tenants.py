from django.db import migrations

from core.rls import DefinerFunction, GlobalTable, TenantTable

DUE = """
SELECT w.organization_id, w.id FROM provisioning_workload w
WHERE (w.due_at <= moment OR w.observed_generation < w.generation)
  AND (w.lease_until IS NULL OR w.lease_until <= moment)
ORDER BY w.queued_at NULLS FIRST, w.id LIMIT most
"""

AHEAD = """
SELECT other.id FROM provisioning_workload mine
JOIN provisioning_shape my_shape ON my_shape.id = mine.shape_id
JOIN provisioning_workload other ON other.cluster_id = mine.cluster_id AND other.state = 'queued'
JOIN provisioning_shape its_shape ON its_shape.id = other.shape_id
WHERE mine.id = workload AND its_shape.accelerator_id IS NOT DISTINCT FROM my_shape.accelerator_id
  AND (other.queued_at, other.id) < (mine.queued_at, mine.id)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("provisioning", "0001_initial"),
        ("core", "0002_isolate_tenants"),
        ("tenants", "0002_isolate_tenants"),
    ]

    operations = [
        TenantTable("Volume", audited=["state", "size_gib"]),
        TenantTable("Workload", audited=["state", "desired_state", "spec"]),
        TenantTable("Condition"),
        TenantTable("Event"),
        TenantTable("Allocation"),
        TenantTable("ActivitySample"),
        TenantTable("EntryCode"),
        TenantTable("WorkspaceEntry"),
        GlobalTable("Region"),
        GlobalTable("AcceleratorType"),
        GlobalTable("Shape"),
        GlobalTable("Image"),
        GlobalTable("Cluster", updates=["used"]),
        DefinerFunction(
            "steelyard_due_workloads",
            arguments="moment timestamptz, most integer",
            returns="TABLE (organization_id uuid, workload_id uuid)",
            body=DUE,
        ),
        DefinerFunction(
            "steelyard_running_workloads",
            arguments="",
            returns="TABLE (organization_id uuid, workload_id uuid)",
            body="SELECT w.organization_id, w.id FROM provisioning_workload w WHERE w.state = 'running' ORDER BY w.id",
        ),
        DefinerFunction(
            "steelyard_placed_workloads",
            arguments="driver_name text",
            returns="TABLE (organization_id uuid, workload_id uuid)",
            body=(
                "SELECT w.organization_id, w.id FROM provisioning_workload w"
                " JOIN provisioning_cluster c ON c.id = w.cluster_id WHERE c.driver = driver_name"
                " AND w.state IN ('provisioning', 'running', 'stopping', 'deleting') ORDER BY w.id"
            ),
        ),
        DefinerFunction("steelyard_ahead_in_queue", arguments="workload uuid", returns="SETOF uuid", body=AHEAD),
        DefinerFunction(
            "steelyard_volumes_to_purge",
            arguments="moment timestamptz, most integer",
            returns="TABLE (organization_id uuid, volume_id uuid)",
            body=(
                "SELECT v.organization_id, v.id FROM provisioning_volume v"
                " WHERE v.state = 'kept' AND v.purge_after <= moment ORDER BY v.purge_after, v.id LIMIT most"
            ),
        ),
        DefinerFunction(
            "steelyard_entry_code_by_hash",
            arguments="presented bytea",
            returns="TABLE (organization_id uuid, code_id uuid)",
            body="SELECT e.organization_id, e.id FROM provisioning_entrycode e WHERE e.code_hash = presented",
        ),
        DefinerFunction(
            "steelyard_workspace_entry_by_hash",
            arguments="presented bytea",
            returns="TABLE (organization_id uuid, entry_id uuid)",
            body="SELECT e.organization_id, e.id FROM provisioning_workspaceentry e WHERE e.cookie_hash = presented",
        ),
    ]
