"""The engine of policies as truth tables, and the one property: a rule more never lets more through."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import Invalid
from core.types import Json
from tenants.enums import PolicyKind, PolicyMode, PolicyOrigin
from tenants.policy_rules import (
    Accelerators,
    ApprovalAbove,
    CapacityKinds,
    Change,
    ChangeApproval,
    Egress,
    IdleStop,
    Images,
    MaxLifetime,
    Named,
    PublicEndpoints,
    Regions,
    RequiredLabels,
    Rule,
    Subject,
    decide,
    decide_change,
    parse,
)

DIGEST = "sha256:" + "a" * 64
SUBJECT = Subject(
    project="vision",
    data_class="confidential",
    region="eu-central",
    image=f"registry.example/ml/jupyter@{DIGEST}",
    accelerator="H100",
    accelerator_count=4,
    capacity_kind="on_demand",
    price_per_hour=Fraction("11.80"),
    currency="USD",
    labels={"cost-centre": "CC-1"},
)


def rule(terms, slug="rule", *, origin=PolicyOrigin.ORGANIZATION, mode=PolicyMode.ENFORCE) -> Rule:
    return Rule(Named(slug, slug.title(), origin), terms, mode)


DENIALS = [
    (Regions({"confidential": ("eu-central",)}), {}, None),
    (Regions({"confidential": ("eu-central",)}), {"region": "us-east"}, "region_not_allowed"),
    (Regions({"confidential": ()}), {}, "region_not_allowed"),
    (Regions({"restricted": ("eu-central",)}), {"region": "us-east"}, None),
    (Images(("registry.example/ml/*",)), {}, None),
    (Images(("registry.example/ml/*",)), {"image": "elsewhere/ml/jupyter"}, "image_not_allowed"),
    (Images(("registry.example/*",), pinned=True), {"image": "registry.example/ml/jupyter:1"}, "image_not_allowed"),
    (Images((), (DIGEST,)), {"image": f"elsewhere/any@{DIGEST}"}, None),
    (Images((), (DIGEST,)), {"image": "elsewhere/any@sha256:" + "b" * 64}, "image_not_allowed"),
    (Images(("*",)), {"image": None}, None),
    (Accelerators(("H100",)), {}, None),
    (Accelerators(("A100",)), {}, "accelerator_not_allowed"),
    (Accelerators(()), {"accelerator": None, "accelerator_count": 0}, None),
    (CapacityKinds(("spot",)), {}, "capacity_kind_not_allowed"),
    (CapacityKinds(("spot", "on_demand")), {}, None),
    (PublicEndpoints(allowed=False), {"public": True}, "public_not_allowed"),
    (PublicEndpoints(allowed=False), {}, None),
    (PublicEndpoints(allowed=True), {"public": True}, None),
    (Egress(("*.data.example",)), {"egress": ("files.data.example",)}, None),
    (Egress(("*.data.example",)), {"egress": ("evil.example",)}, "egress_not_allowed"),
    (RequiredLabels({"cost-centre": ()}), {}, None),
    (RequiredLabels({"owner": ()}), {}, "labels_missing"),
    (RequiredLabels({"cost-centre": ("CC-1", "CC-2")}), {}, None),
    (RequiredLabels({"cost-centre": ("CC-2",)}), {}, "label_not_allowed"),
]


class TestDenials:
    @pytest.mark.parametrize(("terms", "change", "code"), DENIALS)
    def test_each_kind_of_rule(self, terms, change, code):
        decision = decide([rule(terms)], replace(SUBJECT, **change))

        assert [found.reason.code for found in decision.denials] == ([code] if code else [])

    def test_every_no_names_its_rule_who_set_it_and_whom_to_ask(self):
        rules = [
            rule(Accelerators(()), "no-gpus"),
            rule(Regions({"confidential": ()}), "at-home", origin=PolicyOrigin.PLATFORM),
        ]

        reasons = [found.reason for found in decide(rules, SUBJECT).denials]

        assert [reason.rule for reason in reasons] == ["at-home", "no-gpus"]
        assert "At-Home (set by the platform)" in reasons[0].message
        assert "No-Gpus (set by the organisation)" in reasons[1].message
        assert (reasons[0].ask or "").startswith("the platform's administrator")

    @pytest.mark.parametrize(("terms", "change", "code"), [row for row in DENIALS if row[2]])
    def test_observed_rules_say_the_same_and_stop_nothing(self, terms, change, code):
        decision = decide([rule(terms, mode=PolicyMode.OBSERVE)], replace(SUBJECT, **change))

        assert not decision.denied
        assert [found.reason.code for found in decision.observed] == [code]

    def test_rules_that_are_off_say_nothing(self):
        assert decide([rule(Accelerators(()), mode=PolicyMode.OFF)], SUBJECT) == decide([], SUBJECT)


APPROVALS = [
    (ApprovalAbove(accelerators=4), {}, False),
    (ApprovalAbove(accelerators=3), {}, True),
    (ApprovalAbove(accelerators=3), {"accelerator": None, "accelerator_count": 0}, False),
    (ApprovalAbove(price_per_hour=Decimal("11.80"), currency="USD"), {}, False),
    (ApprovalAbove(price_per_hour=Decimal("11.79"), currency="USD"), {}, True),
    (ApprovalAbove(price_per_hour=Decimal("100"), currency="EUR"), {}, True),
    (ApprovalAbove(price_per_hour=Decimal("1"), currency="USD"), {"price_per_hour": None}, False),
]


class TestApprovals:
    @pytest.mark.parametrize(("terms", "change", "asks"), APPROVALS)
    def test_above_a_size_or_price(self, terms, change, asks):
        decision = decide([rule(terms)], replace(SUBJECT, **change))

        assert (bool(decision.approvals), decision.deciders, decision.denied) == (asks, int(asks), False)

    def test_four_eyes_where_one_of_the_rules_says_so(self):
        rules = [rule(ApprovalAbove(1), "one"), rule(ApprovalAbove(2, four_eyes=True), "two")]

        decision = decide(rules, SUBJECT)

        assert (decision.deciders, decision.asking_rules) == (2, "one, two")

    @pytest.mark.parametrize(
        ("terms", "change", "asks"),
        [
            (ChangeApproval("quota", Decimal(16)), Change("quota", Decimal(17), resource="accelerators"), True),
            (ChangeApproval("quota", Decimal(16)), Change("quota", Decimal(16), resource="accelerators"), False),
            (ChangeApproval("quota", Decimal(0), resource="vcpus"), Change("quota", Decimal(9), "accelerators"), False),
            (ChangeApproval("credit", Decimal(99), "USD"), Change("credit", Decimal(-100), currency="USD"), True),
            (ChangeApproval("credit", Decimal(99), "USD"), Change("credit", Decimal(1), currency="EUR"), True),
            (ChangeApproval("credit", Decimal(0), "USD"), Change("price", Decimal(5), currency="USD"), False),
        ],
    )
    def test_changes_beyond_an_amount(self, terms, change, asks):
        assert bool(decide_change([rule(terms)], change)) is asks


class TestLimits:
    def test_the_strictest_counts_and_names_its_rule(self):
        rules = [
            rule(MaxLifetime(timedelta(hours=8)), "a-day", origin=PolicyOrigin.PLATFORM),
            rule(MaxLifetime(timedelta(hours=2)), "short"),
            rule(IdleStop(timedelta(minutes=30)), "idle"),
        ]

        decision = decide(rules, SUBJECT)

        assert decision.max_lifetime is not None
        assert (decision.max_lifetime.at_most, decision.max_lifetime.rule.slug) == (timedelta(hours=2), "short")
        assert decision.idle_after is not None
        assert decision.idle_after.at_most == timedelta(minutes=30)

    def test_an_observed_limit_speaks_only_where_it_would_cut_something_short(self):
        watched = [rule(MaxLifetime(timedelta(hours=8)), mode=PolicyMode.OBSERVE)]

        assert not decide(watched, replace(SUBJECT, lifetime=timedelta(hours=8))).observed
        assert decide(watched, replace(SUBJECT, lifetime=timedelta(hours=9))).observed


WORDS = st.sampled_from(["eu-central", "us-east", "H100", "A100", "spot", "on_demand", "a", "b"])
LISTS = st.lists(WORDS, max_size=3).map(tuple)
SPANS = st.integers(60, 10**6).map(lambda seconds: timedelta(seconds=seconds))
TERMS = st.one_of(
    st.dictionaries(st.sampled_from(["public", "confidential"]), LISTS, max_size=2).map(Regions),
    st.builds(Images, LISTS, st.just(()), st.booleans()),
    LISTS.map(Accelerators),
    LISTS.map(CapacityKinds),
    SPANS.map(MaxLifetime),
    SPANS.map(IdleStop),
    st.builds(ApprovalAbove, st.integers(0, 9), st.none(), st.just(""), st.booleans()),
    st.booleans().map(PublicEndpoints),
    LISTS.map(Egress),
    st.dictionaries(st.sampled_from(["a", "b"]), LISTS, max_size=2).map(RequiredLabels),
)
RULES = st.builds(
    lambda terms, slug, origin, mode: Rule(Named(slug, slug, origin), terms, mode),
    TERMS,
    st.text("abc", min_size=1, max_size=3),
    st.sampled_from(PolicyOrigin),
    st.sampled_from(PolicyMode),
)
SUBJECTS = st.builds(
    Subject,
    project=st.just("vision"),
    data_class=st.sampled_from(["public", "confidential"]),
    region=st.none() | WORDS,
    image=st.none() | WORDS,
    accelerator=st.none() | WORDS,
    accelerator_count=st.integers(0, 9),
    capacity_kind=st.none() | WORDS,
    public=st.booleans(),
    egress=LISTS,
    labels=st.dictionaries(st.sampled_from(["a", "b"]), WORDS, max_size=2),
)


class TestTightening:
    @settings(max_examples=300, deadline=None)
    @given(st.lists(RULES, max_size=5), RULES, SUBJECTS)
    def test_a_rule_more_never_lets_more_through(self, rules, more, subject):
        before, after = decide(rules, subject), decide([*rules, more], subject)

        assert set(before.denials) <= set(after.denials)
        assert set(before.approvals) <= set(after.approvals)
        assert after.deciders >= before.deciders
        for name in ("max_lifetime", "idle_after"):
            known, now = getattr(before, name), getattr(after, name)
            assert known is None or now.at_most <= known.at_most
        assert all(each in after.egress for each in before.egress)

    @settings(max_examples=100, deadline=None)
    @given(st.lists(RULES, max_size=5), SUBJECTS)
    def test_the_order_in_which_rules_are_known_means_nothing(self, rules, subject):
        unique = list({each.name.slug: each for each in rules}.values())

        assert decide(unique, subject) == decide(unique[::-1], subject)


GOOD: dict[PolicyKind, dict[str, Json]] = {
    PolicyKind.REGIONS: {"regions": {"confidential": ["eu-central"]}},
    PolicyKind.IMAGES: {"patterns": ["registry.example/*"], "digests": [DIGEST], "pinned": True},
    PolicyKind.ACCELERATORS: {"models": ["H100"]},
    PolicyKind.CAPACITY_KINDS: {"kinds": ["spot"]},
    PolicyKind.MAX_LIFETIME: {"seconds": 3600},
    PolicyKind.IDLE_STOP: {"seconds": 600},
    PolicyKind.APPROVAL_ABOVE: {
        "accelerators": 4,
        "price_per_hour": {"amount": "10", "currency": "EUR"},
        "four_eyes": True,
    },
    PolicyKind.PUBLIC_ENDPOINTS: {"allowed": False},
    PolicyKind.EGRESS: {"hosts": ["*.data.example"]},
    PolicyKind.REQUIRED_LABELS: {"labels": {"cost-centre": [], "owner": ["a", "b"]}},
    PolicyKind.CHANGE_APPROVAL: {
        "change": "quota",
        "above": "16",
        "currency": None,
        "resource": "accelerators",
        "four_eyes": False,
    },
}


class TestReading:
    @pytest.mark.parametrize("kind", PolicyKind)
    def test_what_is_read_is_written_the_same(self, kind):
        assert parse(kind, GOOD[kind]).as_json() == GOOD[kind]

    @pytest.mark.parametrize(
        ("kind", "data", "field"),
        [
            ("regions", {"regions": {"secret": ["here"]}}, "terms.regions"),
            ("regions", {}, "terms.regions"),
            ("images", {}, "terms.patterns"),
            ("images", {"digests": ["sha256:1"]}, "terms.digests"),
            ("capacity_kinds", {"kinds": ["cheap"]}, "terms.kinds"),
            ("max_lifetime", {}, "terms.seconds"),
            ("max_lifetime", {"seconds": True}, "terms.seconds"),
            ("idle_stop", {"seconds": 5}, "terms.seconds"),
            ("approval_above", {}, "terms.accelerators"),
            ("approval_above", {"price_per_hour": {"amount": "NaN", "currency": "EUR"}}, "terms.price_per_hour"),
            ("egress", {"hosts": "all"}, "terms.hosts"),
            ("required_labels", {"labels": {"Bad Label": []}}, "terms.labels"),
            ("change_approval", {"change": "weather", "above": "1"}, "terms.change"),
            ("change_approval", {"change": "quota", "above": "1", "resource": "zzz"}, "terms.resource"),
            ("change_approval", {"change": "quota", "above": "1", "currency": "EUR"}, "terms.currency"),
            ("change_approval", {"change": "price", "above": "1", "currency": None}, "terms.currency"),
            ("change_approval", {"change": "credit", "above": "1", "currency": "euro"}, "terms.currency"),
            ("change_approval", {"change": "quota", "above": "1e400"}, "terms.above"),
            ("change_approval", {"change": "quota", "above": "1" * 16}, "terms.above"),
            ("approval_above", {"price_per_hour": {"amount": "1e999", "currency": "EUR"}}, "terms.price_per_hour"),
            ("accelerators", {"models": ["H100"], "more": 1}, "terms.more"),
        ],
    )
    def test_what_cannot_be_meant_is_named_by_field(self, kind, data, field):
        with pytest.raises(Invalid) as refused:
            parse(kind, data)

        assert field in {error.field for error in refused.value.errors}
