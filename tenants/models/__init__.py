"""Tables of tenancy."""

from tenants.models.access import AccessToken
from tenants.models.grants import Membership, OrganizationGrant, ProjectGrant
from tenants.models.organizations import Organization, Project
from tenants.models.quotas import Quota, QuotaHold
from tenants.models.users import User

__all__ = [
    "AccessToken",
    "Membership",
    "Organization",
    "OrganizationGrant",
    "Project",
    "ProjectGrant",
    "Quota",
    "QuotaHold",
    "User",
]
