"""Asking for more quota: with a reason, decided by others, and only as long as it was granted."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from core.errors import Conflict, Forbidden, Invalid, NotFound, Refused
from core.models import AuditEvent
from tenants.enums import PlatformRole
from tenants.models import Quota
from tenants.services import quota_raises, quota_requests, quotas
from tests import house
from tests.house import an_act
from tests.tenants.quota_stage import quota, take

pytestmark = pytest.mark.django_db
WHY = "Eight more for the benchmark of the new encoder."


@pytest.fixture
def row(aurora):
    """Vision may hold eight H100."""
    return quota(aurora, aurora.projects["vision"], 8)


def ask(tenant, name, row, limit=16, *, why=WHY, until=None, now=None):
    with an_act(), tenant.scope():
        return quota_requests.ask(
            actor=tenant.actor(name),
            quota_id=row.pk,
            limit=limit,
            justification=why,
            until=until,
            now=now or timezone.now(),
        )


def decide(tenant, name, request, act=quota_requests.approve, now=None):
    with an_act(), tenant.scope():
        return act(actor=tenant.actor(name), request_id=request.pk, now=now or timezone.now())


def limit_of(tenant, row):
    with tenant.scope():
        found = Quota.objects.get(pk=row.pk)
        return found.limit, found.raised_until is not None, found.falls_to


class TestAsking:
    @pytest.mark.parametrize(("why", "code"), [("", "required"), ("   ", "required"), ("more GPUs", "too_short")])
    def test_c32_without_a_justification_it_is_refused(self, aurora, row, why, code):
        with pytest.raises(Invalid) as refused:
            ask(aurora, "alice", row, why=why)

        assert [(error.field, error.code) for error in refused.value.errors] == [("justification", code)]

    @pytest.mark.parametrize("limit", [0, 7, 8, 10**13])
    def test_asks_for_more_and_for_what_can_be(self, aurora, row, limit):
        with pytest.raises(Invalid):
            ask(aurora, "alice", row, limit)

    def test_its_end_lies_in_the_future(self, aurora, row):
        with pytest.raises(Invalid):
            ask(aurora, "alice", row, until=timezone.now())

    def test_who_may_only_look_asks_for_nothing_and_a_stranger_finds_nothing(self, aurora, borealis, row):
        with pytest.raises(Forbidden):
            ask(aurora, "victor", row)
        with pytest.raises(NotFound):
            ask(borealis, "charlie", row)

    def test_one_asks_for_ones_own(self, aurora):
        mine = quota(aurora, aurora.people["bob"], 4)

        assert ask(aurora, "bob", mine).payload["limit"] == 16
        with pytest.raises(NotFound):
            ask(aurora, "alice", mine)

    def test_one_quota_is_asked_about_once_at_a_time(self, aurora, row):
        ask(aurora, "alice", row)

        with pytest.raises(Conflict):
            ask(aurora, "bob", row, 20)


class TestDeciding:
    def test_an_approval_raises_the_limit(self, aurora, row):
        done = decide(aurora, "olivia", ask(aurora, "alice", row))

        assert done.state == "approved"
        assert limit_of(aurora, row) == (16, False, None)
        assert not isinstance(take(aurora, "vision", 16), tuple)

    def test_a_refusal_changes_nothing(self, aurora, row):
        decide(aurora, "olivia", ask(aurora, "alice", row), quota_requests.refuse)

        assert limit_of(aurora, row) == (8, False, None)

    def test_nobody_decides_their_own_request(self, aurora, row):
        mine = ask(aurora, "olivia", row)

        with pytest.raises(Refused) as refused:
            decide(aurora, "olivia", mine)

        assert refused.value.reasons[0].code == "own_request"
        assert limit_of(aurora, row) == (8, False, None)

    def test_not_even_who_leads_the_project_decides_on_its_quota(self, aurora, row):
        house.join(aurora, "paula", "project_admin", projects=("vision",))
        request = ask(aurora, "alice", row)

        with pytest.raises((Forbidden, NotFound)):
            decide(aurora, "paula", request)

    def test_about_the_organisations_own_quota_the_platform_decides(self, aurora):
        top = quota(aurora, aurora.organization, 8)
        petra = house.join(aurora, "petra", "admin")
        petra.platform_role = PlatformRole.ADMIN
        house.join(aurora, "otto", "owner")
        request = ask(aurora, "olivia", top)

        with pytest.raises(NotFound):
            decide(aurora, "otto", request)
        decide(aurora, "petra", request)

        assert limit_of(aurora, top) == (16, False, None)

    def test_a_limit_that_is_higher_by_now_stays(self, aurora, row):
        request = ask(aurora, "alice", row)
        quota(aurora, aurora.projects["vision"], 32)

        decide(aurora, "olivia", request)

        assert limit_of(aurora, row) == (32, False, None)

    def test_what_was_asked_for_until_yesterday_is_not_raised_today(self, aurora, row):
        now = timezone.now()
        request = ask(aurora, "alice", row, until=now + timedelta(hours=1), now=now)

        with pytest.raises(Conflict):
            decide(aurora, "olivia", request, now=now + timedelta(hours=2))

        assert limit_of(aurora, row) == (8, False, None)


class TestFallingBack:
    def test_c32_it_falls_back_at_its_end_and_what_is_held_stays(self, aurora, row):
        now = timezone.now()
        end = now + timedelta(days=1)
        decide(aurora, "olivia", ask(aurora, "alice", row, until=end, now=now), now=now)
        assert limit_of(aurora, row) == (16, True, 8)
        take(aurora, "vision", 12)

        assert quota_raises.end_raises(now=end - timedelta(seconds=1)) == 0
        assert quota_raises.end_raises(now=end) == 1
        assert quota_raises.end_raises(now=end) == 0

        assert limit_of(aurora, row) == (8, False, None)
        with aurora.scope():
            assert Quota.objects.get(pk=row.pk).used == 12
            [event] = AuditEvent.objects.filter(verb="quota.raise_ended")
        assert (event.before, event.after) == ({"limit": 16}, {"limit": 8})
        [reason] = take(aurora, "vision", 1)
        assert (reason.code, reason.used, reason.limit) == ("over_quota", 12, 8)

    def test_a_raise_upon_a_raise_falls_back_to_what_lasts(self, aurora, row):
        now = timezone.now()
        first, second = now + timedelta(days=1), now + timedelta(days=2)
        decide(aurora, "olivia", ask(aurora, "alice", row, until=first, now=now), now=now)
        decide(aurora, "olivia", ask(aurora, "alice", row, 24, until=second, now=now), now=now)

        assert limit_of(aurora, row) == (24, True, 8)
        quota_raises.end_raises(now=second)
        assert limit_of(aurora, row) == (8, False, None)

    def test_a_limit_that_is_set_ends_the_raise(self, aurora, row):
        now = timezone.now()
        decide(aurora, "olivia", ask(aurora, "alice", row, until=now + timedelta(days=1), now=now), now=now)

        with an_act(), aurora.scope():
            quotas.set_limit(actor=aurora.actor("olivia"), quota_id=row.pk, limit=10, now=now)

        assert limit_of(aurora, row) == (10, False, None)
