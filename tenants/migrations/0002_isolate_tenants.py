from django.db import migrations

from core.rls import DefinerFunction, PlatformColumns, TenantTable

MACHINERY = (
    "django_migrations",
    "django_content_type",
    "auth_permission",
    "auth_group",
    "auth_group_permissions",
    "guardian_groupobjectpermission",
    "guardian_userobjectpermission",
    "tenants_user_groups",
    "tenants_user_user_permissions",
)
"""What migrations alone write."""


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0001_initial"),
        ("core", "0002_isolate_tenants"),
        ("guardian", "0003_remove_groupobjectpermission_guardian_gr_content_ae6aec_idx_and_more"),
    ]

    operations = [
        DefinerFunction(
            "steelyard_organizations_of",
            arguments="person uuid",
            returns="SETOF uuid",
            body=(
                "SELECT organization_id FROM tenants_membership WHERE user_id = person"
                " GROUP BY organization_id ORDER BY min(created_at), organization_id"
            ),
        ),
        DefinerFunction(
            "steelyard_token_by_hash",
            arguments="presented bytea",
            returns="TABLE (organization_id uuid, token_id uuid)",
            body="SELECT t.organization_id, t.id FROM tenants_accesstoken t WHERE t.secret_hash = presented",
        ),
        TenantTable(
            "Organization",
            key="id",
            visible="id IN (SELECT steelyard_organizations_of(steelyard_user()))",
            audited=["slug", "name", "currency", "time_zone", "standing"],
        ),
        TenantTable("Project", audited=["slug", "name", "environment", "data_class", "cost_centre"]),
        TenantTable("Membership", audited=["role"]),
        TenantTable("OrganizationGrant"),
        TenantTable("ProjectGrant"),
        TenantTable("AccessToken", audited=["revoked_at", "scopes", "name"]),
        TenantTable("Quota", audited=["limit"]),
        TenantTable("QuotaHold"),
        PlatformColumns("User", columns=["platform_role", "is_superuser"]),
        migrations.RunSQL(
            f"REVOKE INSERT, UPDATE, DELETE ON {', '.join(MACHINERY)} FROM steelyard_app, steelyard_platform",
            migrations.RunSQL.noop,
        ),
    ]
