from django.db import migrations

from core.rls import AuditedColumns, DefinerFunction, TenantKeys, TenantTable


class Migration(migrations.Migration):
    dependencies = [("tenants", "0003_add_teams_invitations_service_accounts")]

    operations = [
        TenantTable("Team", audited=["slug", "name"]),
        TenantTable("TeamGrant"),
        TenantTable("Invitation", audited=["role", "expires_at", "accepted_at", "revoked_at"]),
        TenantTable("ServiceAccount", audited=["name", "description", "disabled_at"]),
        TenantTable("UsedName", insert_only=True),
        TenantKeys("Membership", fields=["team"]),
        TenantKeys("Project", fields=["team"]),
        AuditedColumns(
            "Project",
            columns=["slug", "name", "environment", "data_class", "cost_centre", "team_id", "closed_at"],
            before=["slug", "name", "environment", "data_class", "cost_centre"],
        ),
        AuditedColumns(
            "Organization",
            columns=["slug", "name", "currency", "time_zone", "standing", "closed_at"],
            before=["slug", "name", "currency", "time_zone", "standing"],
        ),
        DefinerFunction(
            "steelyard_invitation_by_hash",
            arguments="presented bytea",
            returns="TABLE (organization_id uuid, invitation_id uuid)",
            body="SELECT i.organization_id, i.id FROM tenants_invitation i WHERE i.secret_hash = presented",
        ),
    ]
