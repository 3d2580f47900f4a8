"""Quotas are held whole or not at all, and given back to the last unit."""

from __future__ import annotations

import pytest
from django.utils import timezone

from core.errors import Forbidden, NotFound, Refused
from core.ids import uuid7
from tenants.models import Quota, QuotaHold
from tenants.selectors import quota_lines
from tenants.services import quotas
from tenants.types import Claim, Holder
from tests.house import an_act

pytestmark = pytest.mark.django_db

GPU = Claim((("accelerators", 4), ("accelerators/H100", 4), ("workloads", 1)))


def holder():
    return Holder(kind="workload", id=uuid7(), label="notes")


class TestQuotas:
    def test_a_refusal_names_every_resource_with_its_numbers(self, aurora):
        project, now = aurora.projects["vision"], timezone.now()
        with aurora.scope():
            quotas.take(project=project, claim=GPU, holder=holder(), now=now)
            quotas.take(project=project, claim=GPU, holder=holder(), now=now)

            with pytest.raises(Refused) as refused:
                quotas.take(
                    project=project,
                    claim=Claim((("accelerators/H100", 4), ("vcpus", 600))),
                    holder=holder(),
                    now=now,
                )

            lines = quota_lines(project.pk)
        assert [(r.resource, r.asked, r.used, r.limit) for r in refused.value.reasons] == [
            ("accelerators/H100", 4, 8, 10),
            ("vcpus", 600, 0, 512),
        ]
        assert refused.value.reasons[0].message == "2 H100 GPUs over (8 used + 4 asked > 10)."
        assert lines["vcpus"].used == 0

    def test_what_is_given_back_is_free_again_and_only_once(self, aurora):
        project, now, mine = aurora.projects["vision"], timezone.now(), holder()
        with aurora.scope():
            quotas.take(project=project, claim=GPU, holder=mine, now=now)
            quotas.give_back(project_id=project.pk, holder=mine, keep=Claim((("workloads", 1),)))
            quotas.give_back(project_id=project.pk, holder=mine, keep=Claim((("workloads", 1),)))

            assert {q.resource: q.used for q in Quota.objects.filter(project=project, used__gt=0)} == {"workloads": 1}
            quotas.give_back(project_id=project.pk, holder=mine)
            assert not QuotaHold.objects.exists()

    def test_the_owner_sets_a_limit_a_developer_may_not_and_a_stranger_finds_nothing(self, aurora, borealis):
        now = timezone.now()
        with an_act(), aurora.scope():
            quota = Quota.objects.get(project=aurora.projects["vision"], resource="vcpus")
            changed = quotas.set_limit(actor=aurora.actor("olivia"), quota_id=quota.pk, limit=7, now=now)
            assert changed.limit == 7
        with an_act(), aurora.scope(), pytest.raises(Forbidden):
            quotas.set_limit(actor=aurora.actor("alice"), quota_id=quota.pk, limit=8, now=now)
        with an_act(), borealis.scope(), pytest.raises(NotFound):
            quotas.set_limit(actor=borealis.actor("boris"), quota_id=quota.pk, limit=9, now=now)
