"""`manage.py prove_isolation`: it finds what is wrong, says what it could not ask, and leaves nothing behind."""

from __future__ import annotations

import json

import pytest
from celery import current_app
from django.core import mail
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.urls import path
from psycopg import sql

from core import scope
from core.anchors import public_keys
from core.routes import ANONYMOUS, AUTHENTICATED, route
from portal.isolation import expecting, objects, proving, routes
from portal.isolation.expecting import Question
from portal.isolation.people import undone
from portal.isolation.tables import ask_tables
from portal.isolation.verifier import verify
from portal.isolation.walking import grants
from portal.isolation.words import Caller, Expected, Outcome, Side
from portal.urls import handler404, handler500
from portal.urls import urlpatterns as portals
from provisioning.models import Workload
from tenants.enums import Permission, PlatformPermission, PlatformRole
from tests import house
from tests.isolation.web_role import owner_login

CALLERS = (Caller(Side.MEMBER, "project_admin"), Caller(Side.STRANGER, "developer"))
"""Of the whole table of routes; what owners, viewers and visitors meet is tested beside, route by route."""


def rows() -> dict[str, int]:
    """How many rows every table of the database holds."""
    with owner_login().connect() as owner:
        names = [row[0] for row in owner.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
        count = sql.SQL("SELECT count(*) FROM {}")
        found = {name: owner.execute(count.format(sql.Identifier(name))).fetchone() for name in names}
        return {name: int(row[0]) for name, row in found.items() if row}


@pytest.fixture(scope="module")
def proof(world):
    """One proof of every route, and what it left behind."""
    house.platform_person(world.borealis, "ada", PlatformRole.AUDITOR)
    sent: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(current_app, "send_task", lambda name, **_: sent.append(name))
        mail.outbox, world.machine.calls = [], []
        before = rows()
        report = proving.prove(organization="aurora", stranger="borealis", callers=CALLERS)
        after = rows()
    left = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    return report, {**left, "tasks": len(sent), "mails": len(mail.outbox), "calls": len(world.machine.calls)}


class TestAProof:
    def test_of_this_software_holds_on_every_route_and_table(self, proof):
        report, _ = proof
        document = json.loads(report.document)

        assert document["failures"] == []
        assert (report.held, report.failed) == (report.asked, 0)
        assert len(document["routes"]) == len(routes.addresses())
        assert all(word.startswith("held") for table in document["tables"].values() for word in table.values())
        assert set(document["roles"].values()) == {"held none"}

    def test_counts_what_it_could_not_ask_and_never_as_held(self, proof):
        document = json.loads(proof[0].document)
        row = document["routes"]["GET /console/policies/<uuid:policy_id>"]["answers"]

        assert row == {
            "project_admin": "not_asked denied no_object",
            "stranger.developer": "not_asked absent no_object",
        }
        words = [word for one in document["routes"].values() for word in one["answers"].values()]
        assert document["counts"]["routes"]["not_asked"] == sum(word.startswith("not_asked") for word in words)

    def test_leaves_its_report_and_one_event_behind(self, proof, owner):
        report, left = proof
        kept = owner.execute(
            "SELECT outcome, after->>'held' FROM core_auditevent WHERE object_id = %s", [str(report.pk)]
        ).fetchall()

        assert left == {"portal_isolationreport": 1, "core_auditevent": 1, "tasks": 0, "mails": 0, "calls": 0}
        assert kept == [("done", str(report.held))]

    def test_that_breaks_off_is_an_event_too(self, world, owner):
        with pytest.raises(proving.CannotProve, match="no organisation nowhere"):
            proving.prove(organization="nowhere")

        events = "SELECT outcome FROM core_auditevent WHERE verb = 'isolation.proved' ORDER BY id DESC LIMIT 1"
        assert owner.execute(events).fetchone() == ("failed",)

    def test_takes_the_organisations_with_most_to_ask_for(self, world):
        first, second = proving.parties("", "")

        assert {first.slug, second.slug} == {"aurora", "borealis"}
        assert proving.parties("", "aurora")[0].slug == "borealis"


class TestTheSignature:
    def test_holds_and_names_what_was_changed(self, proof):
        text = proof[0].document.encode()
        told = '"GET /workspaces": {\n   "answers": {\n    "project_admin": "held allowed 200"'
        assert told.encode() in text

        assert verify(text, keys=public_keys()).holds
        for before, after, fault in (
            (
                '"GET /workspaces": {\n   "answers": {\n    "project_admin": "held',
                "failed",
                "Changed: routes / GET /wor",
            ),
            ('"version": "', "9", "Changed: about."),
            ('"signature": "', "", "The signature does not hold"),
            ('"core_auditevent": {', ' "x": 1,', "Changed: tables / core_auditevent."),
            ("{", " ", "The text was changed in form"),
        ):
            place = text.index(before.encode()) + len(before)
            changed = text[:place] + after.encode() + text[place + (before == '"signature": "') :]
            assert any(fault.startswith(fault) for fault in verify(changed).faults)
            assert fault in " ".join(verify(changed).faults)

    def test_of_another_installation_is_not_ours(self, proof):
        verdict = verify(proof[0].document.encode(), keys=["ab" * 32])

        assert verdict.faults == (f"It was signed by another key: {public_keys()[0]}.",)

    def test_is_checked_by_the_command(self, proof, tmp_path, capsys):
        good, bad = tmp_path / "good.json", tmp_path / "bad.json"
        good.write_text(proof[0].document)
        bad.write_text(proof[0].document.replace("held absent 404", "held absent 200", 1))

        call_command("prove_isolation", verify=good)
        with pytest.raises(CommandError, match="not as it was signed"):
            call_command("prove_isolation", verify=bad)

        told = capsys.readouterr()
        assert "as it was signed" in told.out
        assert "BAD  Changed: routes / " in told.err


class TestTheConsole:
    def test_shows_the_report_and_gives_the_very_file(self, world, proof):
        report, _ = proof
        auditor = house.client_for(world.borealis, "ada")

        page = auditor.get("/console/isolation").content.decode()
        file = auditor.get(f"/console/isolation/{report.pk}/report.json")

        assert "logged in as steelyard_app" in page
        assert "What failed" not in page
        assert "not as it was signed" not in page
        assert file.content == report.document.encode()
        assert "attachment" in file.headers["Content-Disposition"]
        assert auditor.get(f"/console/isolation/{world.aurora.organization.pk}").status_code == 404

    def test_says_so_where_the_stored_report_was_changed(self, world, proof):
        with owner_login().connect() as owner:
            owner.execute(
                "UPDATE portal_isolationreport SET document = replace(document, 'held absent 404', 'held absent 403')"
            )

        page = house.client_for(world.borealis, "ada").get("/console/isolation").content.decode()

        with owner_login().connect() as owner:
            owner.execute("UPDATE portal_isolationreport SET document = %s", [proof[0].document])
        assert "This report is not as it was signed" in page
        assert "Changed: routes / " in page

    def test_is_no_organisations_to_read(self, world, proof, web):
        web.execute("SELECT set_config('role', 'steelyard_app', true)")

        with pytest.raises(Exception, match="permission denied"):
            web.execute("SELECT 1 FROM portal_isolationreport")


def test_lists_of_what_one_sees_show_nothing_to_a_role_that_may_see_none(world):
    lists = [one for one in routes.addresses() if one.path in expecting.LISTS_OF_WHAT_ONE_SEES and one.reads]

    report = proving.prove(
        organization="aurora", stranger="borealis", callers=[Caller(Side.MEMBER, "billing")], routes=lists
    )

    answers = {word for row in json.loads(report.document)["routes"].values() for word in row["answers"].values()}
    assert (len(lists), answers) == (8, {"held empty 200"})


@route(permission=Permission.VIEW_WORKLOAD, verb="workload.viewed", scoped=False)
def open_to_strangers(request, workload_id):
    """It forgets whose the workload is."""
    with scope.of_platform():
        return HttpResponse(Workload.objects.get(pk=workload_id).name)


@route(permission=Permission.MANAGE_AUDIT, verb="audit.viewed")
def open_to_all_roles(request):
    """It forgets what it declares."""
    return HttpResponse("here")


@route(permission=AUTHENTICATED, verb="workload.listed", scoped=False)
def lists_everybodys(request):
    with scope.of_platform():
        return HttpResponse(" ".join(str(key) for key in Workload.objects.values_list("pk", flat=True)))


BROKEN = [
    path("broken/<uuid:workload_id>", open_to_strangers),
    path("broken/roles", open_to_all_roles),
    path("broken/list", lists_everybodys),
]
urlpatterns = [*portals, *BROKEN]
__all__ = ["handler404", "handler500"]


@pytest.mark.urls(__name__)
def test_a_broken_route_is_named_with_who_got_in(world):
    broken = [one for one in routes.addresses() if one.path.startswith("/broken") and one.reads]
    callers = (Caller(Side.MEMBER, "viewer"), Caller(Side.STRANGER, "owner"), Caller(Side.VISITOR))

    report = proving.prove(organization="aurora", stranger="borealis", callers=callers, routes=broken)

    failures = [(row["route"], row["caller"]) for row in json.loads(report.document)["failures"]]
    assert failures == [
        ("GET /broken/<uuid:workload_id>", "stranger.owner"),
        ("GET /broken/roles", "viewer"),
        ("GET /broken/list", "stranger.owner"),
    ]


def test_a_table_without_row_level_security_is_named(world):
    table = "provisioning_workload"
    with scope.of_platform():
        both = proving.parties("aurora", "borealis")
    with owner_login().connect() as owner:
        owner.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    try:
        with undone():
            found = ask_tables(*both)
    finally:
        with owner_login().connect() as owner:
            owner.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")

    failed = {f"{name}.{check.name}" for name, row in found.items() for check in row if check.outcome is Outcome.FAILED}
    asked = ("secured", "no_context", "foreign_read", "foreign_change", "foreign_insert")
    assert failed == {f"{table}.{name}" for name in asked}


def test_every_name_in_an_address_has_a_sort_of_object():
    known = {*objects.SORTS, *objects.OF_EVERYBODY, *objects.OF_THE_PLATFORM, "slug", "month", "position"}

    assert {name for one in routes.addresses() for name in one.parameters} <= known


OWNER, VIEWER = Caller(Side.MEMBER, "owner"), Caller(Side.MEMBER, "viewer")
STRANGER, AUDITOR = Caller(Side.STRANGER, "owner"), Caller(Side.PLATFORM, "platform_auditor")
VISITOR = Caller(Side.VISITOR)
E = Expected


@pytest.mark.parametrize(
    ("permission", "reads", "names", "wanted"),
    [
        (Permission.VIEW_AUDIT, True, True, (E.ALLOWED, E.DENIED, E.ABSENT, E.ABSENT, E.SIGN_IN)),
        (Permission.VIEW_AUDIT, True, False, (E.ALLOWED, E.DENIED, E.SILENT, None, E.SIGN_IN)),
        (Permission.VIEW_WORKLOAD, True, True, (E.ALLOWED, E.ALLOWED, E.ABSENT, E.ABSENT, E.SIGN_IN)),
        (Permission.MANAGE_AUDIT, False, True, (E.MAY, E.MAY_NOT, E.ABSENT, E.ABSENT, E.SIGN_IN)),
        (Permission.MANAGE_AUDIT, False, False, (E.MAY, E.MAY_NOT, None, None, E.SIGN_IN)),
        (PlatformPermission.VIEW_TENANTS, True, True, (E.DENIED, E.DENIED, E.ABSENT, E.ALLOWED, E.SIGN_IN)),
        (PlatformPermission.MANAGE_TENANTS, False, False, (E.MAY_NOT, E.MAY_NOT, E.MAY_NOT, E.MAY_NOT, E.SIGN_IN)),
        (AUTHENTICATED, True, False, (E.ALLOWED, E.ALLOWED, E.SILENT, None, E.SIGN_IN)),
        (AUTHENTICATED, False, True, (None, None, E.ABSENT, E.ABSENT, E.SIGN_IN)),
        (ANONYMOUS, True, False, (None, None, None, None, E.SILENT)),
        (None, True, False, (E.ABSENT,) * 5),
    ],
)
def test_what_each_caller_ought_to_meet(permission, reads, names, wanted):
    question, table = Question(permission, reads, names), grants()

    assert (
        tuple(expecting.expected(question, one, table) for one in (OWNER, VIEWER, STRANGER, AUDITOR, VISITOR)) == wanted
    )
