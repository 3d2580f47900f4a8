"""The old end of a chain goes by rule alone, and what is left still proves that nothing else is gone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import DatabaseError
from django.utils import timezone

from core import audit
from core.anchors import public_keys
from core.audit_verifier import verify
from core.models import AuditCut, AuditEvent, AuditRetention
from core.retention import cut, cut_all
from core.sealing import log_of, seal
from core.types import ObjectRef
from tests.house import an_act

pytestmark = pytest.mark.django_db
NOW = timezone.now()
LATER = NOW + timedelta(days=400, minutes=20)


@pytest.fixture
def old_chain(aurora):
    """Ten entries of a year ago in front of what is new."""
    for number in range(10):
        with an_act(), aurora.scope():
            at = NOW + timedelta(days=400, minutes=number)
            audit.record(aurora.actor("olivia"), "project.renamed", ObjectRef("project", str(number)), now=at)
    while seal(aurora.organization.pk):
        pass
    return aurora


def keep(tenant, days):
    with an_act(), tenant.scope():
        AuditRetention.objects.create(organization_id=tenant.organization.pk, keep_days=days)
        audit.record(tenant.actor("olivia"), "audit.retention_set", tenant.organization.ref, now=LATER)


def log(tenant):
    seal(tenant.organization.pk)
    with tenant.scope():
        return list(log_of(tenant.organization.pk))


class TestCut:
    def test_removes_nothing_without_a_rule(self, old_chain):
        assert cut_all(now=NOW + timedelta(days=10_000)) == 0

    def test_removes_what_is_older_and_the_rest_still_verifies(self, old_chain):
        before = log(old_chain)
        keep(old_chain, 365)

        removed = cut(old_chain.organization.pk, now=NOW + timedelta(days=400, minutes=5))

        after = log(old_chain)
        assert removed == len(before) - 10
        assert after[0]["kind"] == "cut"
        assert (after[0]["seq"], after[0]["removed"]) == (removed, removed)
        assert after[1]["seq"] == removed + 1
        verdict = verify(after, keys=public_keys())
        assert verdict.faults == ()
        assert [event["verb"] for event in after if event.get("verb", "").startswith("audit.")] == [
            "audit.retention_set",
            "audit.cut",
        ]

    def test_keeps_the_head_however_old(self, old_chain):
        keep(old_chain, 1)
        log(old_chain)

        cut(old_chain.organization.pk, now=NOW + timedelta(days=10_000))

        assert verify(log(old_chain), keys=public_keys()).faults == ()

    def test_a_cut_that_we_did_not_sign_is_named(self, old_chain):
        keep(old_chain, 365)
        cut(old_chain.organization.pk, now=NOW + timedelta(days=400))
        forged = log(old_chain)
        forged[0] = {**forged[0], "seq": forged[0]["seq"] + 1, "hash": forged[1]["hash"]}
        del forged[1]

        (fault,) = verify(forged, keys=public_keys()).faults

        assert "cut that has a signature that does not fit" in fault.what

    def test_the_old_end_without_its_cut_is_missing(self, old_chain):
        keep(old_chain, 365)
        cut(old_chain.organization.pk, now=NOW + timedelta(days=400))

        (fault,) = verify(log(old_chain)[1:]).faults

        assert "where entry 1 belongs" in fault.what


class TestDatabase:
    def test_lets_no_entry_go_without_a_cut(self, old_chain):
        with pytest.raises(DatabaseError, match="by a recorded cut alone"), old_chain.scope():
            AuditEvent.objects.filter(seq=1).delete()

    def test_lets_no_entry_go_that_no_hash_covers(self, old_chain):
        with an_act(), old_chain.scope():
            audit.record(old_chain.actor("olivia"), "project.renamed", ObjectRef("project", "1"), now=NOW)

        with pytest.raises(DatabaseError, match="by a recorded cut alone"), old_chain.scope():
            AuditEvent.objects.filter(seq=None).delete()

    def test_lets_no_cut_be_changed(self, old_chain):
        keep(old_chain, 365)
        cut(old_chain.organization.pk, now=NOW + timedelta(days=400))

        with pytest.raises(DatabaseError, match="permission denied"), old_chain.scope():
            AuditCut.objects.update(seq=1)
