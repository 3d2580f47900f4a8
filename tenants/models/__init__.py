"""Tables of tenancy."""

from tenants.models.access import AccessToken
from tenants.models.approvals import Approval, ApprovalDecision, ApprovalLetter
from tenants.models.grants import Membership, OrganizationGrant, ProjectGrant, TeamGrant
from tenants.models.impersonations import Impersonation
from tenants.models.invitations import Invitation, ServiceAccount
from tenants.models.organizations import Organization, Project, Team, UsedName
from tenants.models.policies import PlatformPolicy, PlatformPolicyVersion, Policy, PolicyVersion
from tenants.models.quotas import Quota, QuotaHold
from tenants.models.sign_in import EmailDomain, ExternalIdentity, GroupMapping, IdentityProvider
from tenants.models.users import User

__all__ = [
    "AccessToken",
    "Approval",
    "ApprovalDecision",
    "ApprovalLetter",
    "EmailDomain",
    "ExternalIdentity",
    "GroupMapping",
    "IdentityProvider",
    "Impersonation",
    "Invitation",
    "Membership",
    "Organization",
    "OrganizationGrant",
    "PlatformPolicy",
    "PlatformPolicyVersion",
    "Policy",
    "PolicyVersion",
    "Project",
    "ProjectGrant",
    "Quota",
    "QuotaHold",
    "ServiceAccount",
    "Team",
    "TeamGrant",
    "UsedName",
    "User",
]
