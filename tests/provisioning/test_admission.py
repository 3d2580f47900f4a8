"""Admission as a truth table: every failing check at once, with its numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from uuid import UUID

import pytest

from provisioning.admission import decide
from provisioning.enums import Starts
from provisioning.types import Asked, ClusterFacts, ShapeFacts
from tenants.enums import QuotaLevel
from tenants.quota_rules import Book
from tenants.types import Claim, QuotaLine

ID = UUID(int=1)
ONE = ShapeFacts("h100-1", "1 H100", "H100", 1, 16, 200, "here", price_per_hour=Fraction("2.95"))
FOUR = ShapeFacts("h100-4", "4 H100", "H100", 4, 64, 800, "here", price_per_hour=Fraction("11.80"))
EIGHT = ShapeFacts("h100-8", "8 H100", "H100", 8, 128, 1600, "here", price_per_hour=Fraction("23.60"))
SMALL = ShapeFacts("cpu-4", "4 vCPU", None, 0, 4, 16, "here", price_per_hour=Fraction("0.0992"))
CLUSTER = ClusterFacts(
    ID, "local", "here", {"accelerators/H100": 8, "vcpus": 256, "memory_gib": 4096}, {"accelerators/H100": 0}
)


def line(resource, limit, used=0):
    return resource, (QuotaLine(ID, QuotaLevel.PROJECT, "vision", resource, limit, used),)


def book(lines):
    return Book(dict(lines))


def asked(shape=ONE, **changes):
    base = Asked(
        project="vision",
        allowed=True,
        standing_good=True,
        image_active=True,
        shape=shape,
        disk_gib=10,
        quotas=book([line("workloads", 3), line("accelerators/H100", 10), line("storage_gib", 100)]),
        clusters=(CLUSTER,),
        others=(SMALL, ONE, FOUR, EIGHT),
    )
    return replace(base, **changes)


def codes(verdict):
    return [reason.code for reason in verdict.reasons]


class TestAdmission:
    def test_admits_what_fits_and_says_it_starts_now(self):
        verdict = decide(asked())

        assert (verdict.denied, verdict.starts, verdict.cluster_id) == (False, Starts.NOW, ID)
        assert verdict.claim.as_dict() == {
            "accelerators": 1,
            "accelerators/H100": 1,
            "vcpus": 16,
            "memory_gib": 200,
            "storage_gib": 10,
            "workloads": 1,
        }

    def test_c28_says_how_far_over_quota_an_ask_is(self):
        verdict = decide(asked(FOUR, quotas=book([line("accelerators/H100", 10, used=8)])))

        assert [reason.message for reason in verdict.reasons] == ["2 H100 GPUs over (8 used + 4 asked > 10)."]

    def test_c31_names_resource_asked_used_limit_and_whom_to_ask(self):
        (reason,) = decide(asked(FOUR, quotas=book([line("accelerators/H100", 10, used=8)]))).reasons

        assert (reason.resource, reason.asked, reason.used, reason.limit) == ("accelerators/H100", 4, 8, 10)
        assert reason.ask == "an owner of the organisation, who sets the quotas of vision"

    def test_lists_every_failing_check_at_once(self):
        verdict = decide(
            asked(
                replace(EIGHT, active=False),
                allowed=False,
                standing_good=False,
                image_active=False,
                quotas=book([line("workloads", 3, used=3), line("accelerators/H100", 4)]),
                clusters=(replace(CLUSTER, capacity={"accelerators/H100": 4, "vcpus": 256, "memory_gib": 4096}),),
            )
        )

        assert codes(verdict) == [
            "permission_denied",
            "organization_suspended",
            "image_inactive",
            "shape_inactive",
            "over_quota",
            "over_quota",
            "never_fits",
        ]
        assert verdict.starts is Starts.NEVER

    def test_over_capacity_waits_with_the_numbers_instead_of_being_refused(self):
        busy = replace(CLUSTER, used={"accelerators/H100": 6})

        verdict = decide(asked(FOUR, clusters=(busy,)))

        assert (verdict.denied, verdict.starts) == (False, Starts.LATER)
        assert verdict.waits
        assert verdict.waits.message == "Waiting: 4 H100 GPUs requested, 2 free of 8 in local."
        assert (verdict.waits.asked, verdict.waits.used, verdict.waits.limit) == (4, 6, 8)

    def test_offers_what_would_start_now_with_the_price_difference(self):
        busy = replace(CLUSTER, used={"accelerators/H100": 6})

        verdict = decide(asked(FOUR, clusters=(busy,)))

        assert [(each.shape.slug, each.difference_per_hour) for each in verdict.alternatives] == [
            ("h100-1", Fraction("-8.85")),
            ("cpu-4", Fraction("-11.7008")),
        ]

    @pytest.mark.parametrize(
        ("cluster", "starts"),
        [
            (CLUSTER, Starts.NOW),
            (replace(CLUSTER, used={"accelerators/H100": 8}), Starts.LATER),
            (replace(CLUSTER, used={"vcpus": 250}), Starts.LATER),
            (replace(CLUSTER, region="elsewhere"), Starts.NEVER),
            (replace(CLUSTER, healthy=False), Starts.NEVER),
            (replace(CLUSTER, capacity={"vcpus": 256, "memory_gib": 4096}), Starts.NEVER),
        ],
    )
    def test_says_when_it_starts(self, cluster, starts):
        assert decide(asked(clusters=(cluster,))).starts is starts

    def test_prefers_a_cluster_where_it_fits_now(self):
        full = replace(CLUSTER, id=UUID(int=7), slug="a-full", used={"accelerators/H100": 8})

        assert decide(asked(clusters=(full, CLUSTER))).cluster_id == ID

    def test_counts_what_the_workload_holds_already_as_its_own(self):
        quotas = book([line("storage_gib", 100, used=100)])

        assert codes(decide(asked(quotas=quotas))) == ["over_quota"]
        assert codes(decide(asked(quotas=quotas, held=Claim((("storage_gib", 10),))))) == []
