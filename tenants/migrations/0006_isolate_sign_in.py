from django.db import migrations

from core.rls import AuditedColumns, DefinerFunction, TenantTable

_PROVIDER = ["name", "issuer", "client_id", "client_secret", "group_claim", "enabled"]
_ORGANIZATION = ["slug", "name", "currency", "time_zone", "standing", "closed_at"]


class Migration(migrations.Migration):
    dependencies = [("tenants", "0005_add_sign_in_of_organizations")]

    operations = [
        TenantTable("IdentityProvider", audited=_PROVIDER),
        TenantTable("GroupMapping", audited=["group", "role"]),
        TenantTable("EmailDomain", audited=["domain", "challenge", "proven_at"]),
        TenantTable("ExternalIdentity", audited=["user_id", "issuer", "subject"]),
        AuditedColumns("Organization", columns=[*_ORGANIZATION, "mfa_required"], before=_ORGANIZATION),
        DefinerFunction(
            "steelyard_provider_by_slug",
            arguments="asked text",
            returns="TABLE (organization_id uuid, provider_id uuid)",
            body=(
                "SELECT p.organization_id, p.id FROM tenants_identityprovider p"
                " JOIN tenants_organization o ON o.id = p.organization_id WHERE o.slug = asked AND p.enabled"
            ),
        ),
        DefinerFunction(
            "steelyard_provider_by_domain",
            arguments="asked text",
            returns="TABLE (organization_id uuid, provider_id uuid)",
            body=(
                "SELECT p.organization_id, p.id FROM tenants_identityprovider p"
                " JOIN tenants_emaildomain d ON d.organization_id = p.organization_id"
                " WHERE d.domain = asked AND d.proven_at IS NOT NULL AND p.enabled"
            ),
        ),
        DefinerFunction(
            "steelyard_domains_to_check",
            arguments="before timestamptz",
            returns="TABLE (organization_id uuid, domain_id uuid)",
            body=(
                "SELECT d.organization_id, d.id FROM tenants_emaildomain d"
                " WHERE d.proven_at IS NOT NULL AND d.checked_at < before ORDER BY d.checked_at LIMIT 200"
            ),
        ),
    ]
