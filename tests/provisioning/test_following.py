"""The way to a stream: one code for one person, one workload and one purpose; and what readers read."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from django.contrib.sessions.models import Session

from core.errors import NotFound
from core.models import AuditEvent
from provisioning.drivers.base import LogPiece
from provisioning.drivers.local import logs
from provisioning.enums import Purpose
from provisioning.models import EntryCode
from provisioning.services import entries, following, wishes
from provisioning.services.entries import Denied
from provisioning.services.following import Listener
from provisioning.services.listening import EventReader, LogReader, grown_by
from tenants.models import Membership
from tenants.services import memberships
from tests import house
from tests.provisioning.stage import launch, settle, wish

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("shop")]

KEY = "k" * 32


@pytest.fixture
def running(aurora, clock, machine):
    Session.objects.create(session_key=KEY, session_data="", expire_date=clock.now + timedelta(days=14))
    return settle(aurora, launch(aurora), machine, clock, seconds=2)


def code_for(tenant, name, workload, clock, purpose=Purpose.LOGS):
    with house.an_act(), tenant.scope():
        actor = replace(tenant.actor(name), session_key=KEY)
    with house.an_act():
        found = following.follow(actor=actor, workload_id=workload.pk, purpose=purpose, tail=7, now=clock.now)
    return found.url.partition("?code=")[2]


def redeem(workload, code, clock, purpose=Purpose.LOGS):
    with house.an_act():
        return following.redeem(label=workload.label, purpose=purpose, code=code, now=clock.now)


class TestCode:
    @pytest.mark.parametrize("name", ["alice", "bob", "victor", "olivia"])
    def test_is_for_whoever_may_look(self, aurora, clock, running, name):
        listener = redeem(running, code_for(aurora, name, running, clock), clock)

        assert isinstance(listener, Listener)
        assert (listener.person_id, listener.tail) == (aurora.people[name].pk, 7)
        assert following.recheck([listener.pass_key], clock.now) == {listener.pass_key}

    def test_is_for_no_stranger(self, borealis, clock, running):
        with pytest.raises(NotFound):
            code_for(borealis, "boris", running, clock)

    def test_works_once(self, aurora, clock, running):
        code = code_for(aurora, "alice", running, clock)

        assert isinstance(redeem(running, code, clock), Listener)
        assert redeem(running, code, clock) == following.SPENT

    @pytest.mark.parametrize(("seconds", "good"), [(29.9, True), (30, False)])
    def test_lives_thirty_seconds(self, aurora, clock, running, seconds, good):
        code = code_for(aurora, "alice", running, clock)
        clock.pass_(seconds=seconds)

        assert isinstance(redeem(running, code, clock), Listener) is good

    def test_is_good_for_its_purpose_alone(self, aurora, clock, running):
        code = code_for(aurora, "alice", running, clock)
        with house.an_act(), aurora.scope():
            actor = replace(aurora.actor("alice"), session_key=KEY)
            door = entries.open_entry(actor=actor, workload_id=running.pk, now=clock.now).code

        assert redeem(running, code, clock, Purpose.EVENTS) == following.SPENT
        assert redeem(running, door, clock) == following.SPENT
        with house.an_act():
            entered = entries.redeem(label=running.label, code=code, now=clock.now)
        assert isinstance(entered, Denied)
        assert entered.status == 410
        assert isinstance(redeem(running, code, clock), Listener)

    def test_works_for_no_other_workload(self, aurora, clock, running):
        other = launch(aurora, shape="cpu-4")

        assert redeem(other, code_for(aurora, "alice", running, clock), clock) == following.SPENT

    def test_is_kept_as_a_hash_and_leaves_one_event(self, aurora, clock, running):
        code = code_for(aurora, "alice", running, clock)
        redeem(running, code, clock)

        with aurora.scope():
            assert code.encode() not in bytes(EntryCode.objects.get().code_hash)
            [event] = AuditEvent.objects.filter(verb="workload.followed")
        assert (event.outcome, event.after) == ("done", {"stream": "logs"})


class TestPass:
    @pytest.fixture
    def key(self, aurora, clock, running):
        return redeem(running, code_for(aurora, "bob", running, clock), clock).pass_key

    def test_ends_with_the_membership(self, aurora, clock, key):
        with house.an_act(), aurora.scope():
            held = Membership.objects.get(user=aurora.people["bob"], project=aurora.projects["vision"])
            memberships.revoke(actor=house.SYSTEM, membership=held, now=clock.now)

        assert following.recheck([key], clock.now) == set()

    def test_ends_with_the_session(self, clock, key):
        Session.objects.all().delete()

        assert following.recheck([key], clock.now) == set()

    def test_ends_after_half_a_day(self, clock, key):
        assert following.recheck([key], clock.now + timedelta(hours=11)) == {key}
        assert following.recheck([key], clock.now + timedelta(hours=12)) == set()

    def test_of_a_code_that_nobody_spent_is_none(self, aurora, clock, running):
        code_for(aurora, "bob", running, clock)
        with aurora.scope():
            row = EntryCode.objects.get()

        assert following.recheck([f"{row.organization_id}/{row.pk}"], clock.now) == set()


class TestLogReader:
    def test_tells_the_tail_then_the_news_until_the_run_is_over(self, aurora, clock, machine, running):
        said = ["one", "two"]
        machine.logs = lambda _spec, *, tail: tuple(said)
        reader = LogReader(aurora.organization.pk, running.pk, lambda _: machine)

        first, second = reader.more(), reader.more()
        said.append("three")
        third = reader.more()
        wish(aurora, "alice", wishes.stop, running, clock.now)
        said.append("four")
        settle(aurora, running, machine, clock, seconds=3)
        last = reader.more()

        assert [[one.text for one in each.told] for each in (first, second, third, last)] == [
            ["one", "two"], [], ["three"], ["four"],
        ]  # fmt: skip
        assert [each.over for each in (first, second, third, last)] == [False, False, False, True]

    def test_gives_the_driver_its_mark_back(self, aurora, clock, machine, running):
        asked = []

        def log_after(_spec, mark, *, whole):
            asked.append((mark, whole))
            return LogPiece(("line",), mark + "x", missed=bool(mark))

        machine.log_after = log_after
        reader = LogReader(aurora.organization.pk, running.pk, lambda _: machine)

        assert [reader.more().missed, reader.more().missed] == [False, True]
        assert asked == [("", True), ("x", True)]

    def test_falls_back_on_the_lines_of_a_failed_run(self, aurora, clock, machine, running):
        machine.crash(running.pk)
        settle(aurora, running, machine, clock, seconds=5)
        machine.logs = lambda _spec, *, tail: ()

        said = LogReader(aurora.organization.pk, running.pk, lambda _: machine).more()

        assert ([one.text for one in said.told], said.over) == (["Traceback", "MemoryError"], True)

    def test_of_nothing_is_over(self, aurora, machine):
        assert LogReader(aurora.organization.pk, UUID(int=0), lambda _: machine).more().over


class TestEventReader:
    def test_tells_the_timeline_then_the_news_until_deletion(self, aurora, clock, machine, running):
        reader = EventReader(aurora.organization.pk, running.pk)

        before, nothing = reader.more(), reader.more()
        wish(aurora, "alice", wishes.delete, running, clock.now)
        news = reader.more()
        settle(aurora, running, machine, clock, seconds=4)
        last = reader.more()

        assert before.told[0].code == "workload.launched"
        assert '"label":"alice@aurora.example"' in before.told[0].text
        assert (nothing.told, nothing.over, news.over, last.over) == ((), False, False, True)
        assert news.told
        ids = [one.id for said in (before, news, last) for one in said.told]
        assert len(ids) == len(set(ids))


class TestGrownBy:
    @pytest.mark.parametrize(
        ("before", "after", "news"),
        [("", "abc", "abc"), ("abc", "abc", ""), ("abc", "abcd", "d"), ("abc", "cde", "de"), ("abc", "xyz", "xyz"),
         ("abc", "", ""), ("aab", "aabaab", "aab")],
    )  # fmt: skip
    def test_is_what_the_older_tail_lacks(self, before, after, news):
        assert grown_by(tuple(before), tuple(after)) == tuple(news)


class TestLocalLog:
    def test_gives_every_line_once(self, tmp_path):
        log = tmp_path / "log"
        log.write_bytes(b"same\nsame\nhal")

        first = logs.after(log, "run-1", "", whole=True)
        log.write_bytes(b"same\nsame\nhalf\nsame\nsa")
        second = logs.after(log, "run-1", first.mark, whole=True)
        third = logs.after(log, "run-1", second.mark, whole=True)
        last = logs.after(log, "run-1", third.mark, whole=False)

        assert [each.lines for each in (first, second, third, last)] == [
            ("same", "same"), ("half", "same"), (), ("sa",),
        ]  # fmt: skip
        assert not any(each.missed for each in (first, second, third, last))

    def test_begins_anew_with_a_new_run(self, tmp_path):
        log = tmp_path / "log"
        log.write_bytes(b"new\n")

        assert logs.after(log, "run-2", "run-1:400", whole=True).lines == ("new",)

    def test_tells_when_a_log_was_shortened_or_ran_away(self, tmp_path):
        log = tmp_path / "log"
        log.write_bytes(b"x" * 99 + b"\n")
        mark = logs.after(log, "r", "", whole=True).mark
        log.write_bytes(b"short\n")
        shortened = logs.after(log, "r", mark, whole=True)
        log.write_bytes(b"short\n" + (b"y" * 99 + b"\n") * 20_000)
        away = logs.after(log, "r", shortened.mark, whole=True)

        assert (shortened.lines, shortened.missed, away.missed) == ((), True, True)
        assert 0 < len(away.lines) <= logs.MOST_LINES
        assert sum(len(line) for line in away.lines) <= logs.MOST_BYTES
        assert away.mark == f"r:{log.stat().st_size}"

    def test_a_bar_of_progress_moves(self, tmp_path):
        log = tmp_path / "log"
        log.write_bytes(b"10%\r20%\r30%\r")

        assert logs.after(log, "r", "", whole=True).lines == ("10%", "20%")

    def test_without_a_log_there_is_nothing_yet(self, tmp_path):
        assert logs.after(tmp_path / "log", "r", "", whole=True) == LogPiece((), "")
