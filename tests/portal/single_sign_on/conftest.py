"""A real provider and a real name server, each in a process of its own."""

from __future__ import annotations

import ipaddress

import pytest
from django.core.cache import cache

from tenants.services import sign_in
from tenants.services.sign_in import MappingDraft
from tests.oidc import running_name_server, running_provider
from tests.portal.single_sign_on.ways import act, draft, prove


@pytest.fixture(scope="module")
def idp():
    with running_provider() as found:
        yield found


@pytest.fixture(scope="module")
def records():
    return {}


@pytest.fixture(scope="module")
def name_server(records):
    with running_name_server(records) as address:
        yield address


@pytest.fixture(autouse=True)
def reachable(settings, name_server):
    cache.clear()
    settings.STEELYARD = {
        **settings.STEELYARD,
        "OUTGOING_NETWORKS": (ipaddress.ip_network("127.0.0.0/8"),),
        "DNS_SERVERS": (name_server,),
    }


@pytest.fixture
def joined(aurora, idp, records):
    """Aurora with its provider, its domain, and a role for the scientists."""
    act(
        aurora,
        "olivia",
        sign_in.save_provider,
        draft=draft(idp),
        mappings=[
            MappingDraft("scientists", "developer", aurora.projects["vision"]),
            MappingDraft("leads", "project_admin", aurora.projects["vision"]),
            MappingDraft("auditors", "auditor", aurora.organization),
        ],
    )
    prove(aurora, "olivia", "aurora.example", records)
    return aurora
