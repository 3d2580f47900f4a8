"""When a workload stops by itself, as cases with their right answers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from provisioning.enums import Activity, Rule, Source
from provisioning.reclaim import forecast, next_look, verdict
from provisioning.types import Life, Signals, StopRules

HOUR = StopRules(timedelta(minutes=60), timedelta(hours=24), timedelta(minutes=10))
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
RULES = StopRules(idle_after=timedelta(minutes=10), max_lifetime=None, warn_before=timedelta(minutes=2))
LIFE = Life(started_at=NOON, last_activity_at=NOON)
HOUR = replace(RULES, idle_after=timedelta(minutes=60), warn_before=timedelta(minutes=10))


def at(**words):
    return NOON + timedelta(**words)


def judged(life, signals, rules=RULES, *, now, warned=False):
    return verdict(life, signals, rules, now=now, warned=warned)


def quiet(now, last=None, connections=0):
    return Signals(at=now, last_activity=last, connections=connections)


class TestIdleRule:
    def test_c1_a_busy_kernel_is_active_however_long_it_is_silent(self):
        rules = replace(RULES, idle_after=timedelta(minutes=90))
        now = at(hours=3)

        judgement = judged(LIFE, Signals(at=now, busy_kernels=1, last_activity=NOON), rules, now=now)

        assert (judgement.stop, judgement.activity, judgement.life.last_source) == (
            False,
            Activity.ACTIVE,
            Source.KERNEL,
        )

    def test_c2_the_clock_starts_when_busy_turns_idle(self):
        ended = at(minutes=12)

        early = judged(LIFE, quiet(at(minutes=21, seconds=59), ended), now=at(minutes=21, seconds=59))
        due = judged(LIFE, quiet(at(minutes=22), ended), now=at(minutes=22))

        assert (early.stop, due.stop, due.forecast.rule) == (False, True, Rule.IDLE)

    def test_c4_a_terminal_with_a_running_process_is_active(self):
        now = at(hours=1)

        judgement = judged(LIFE, Signals(at=now, busy_terminals=1), now=now)

        assert (judgement.activity, judgement.life.last_activity_at, judgement.life.last_source) == (
            Activity.ACTIVE,
            now,
            Source.TERMINAL,
        )

    def test_c5_unknown_never_stops_anything(self):
        judgement = judged(LIFE, None, now=at(days=3))

        assert (judgement.activity, judgement.stop, judgement.warn) == (Activity.UNKNOWN, False, False)

    def test_c7_an_open_page_is_no_work(self):
        life = LIFE
        for minute in range(1, 121):
            life = judged(life, quiet(at(minutes=minute), connections=3), now=at(minutes=minute)).life

        assert life.last_activity_at == NOON

    def test_c8_after_activity_at_t_it_will_stop_at_t_plus_the_rule(self):
        worked = at(minutes=7)

        coming = judged(LIFE, quiet(at(minutes=8), worked), now=at(minutes=8)).forecast

        assert (coming.will_stop_at, coming.rule, coming.last_activity_at, coming.source) == (
            at(minutes=17),
            Rule.IDLE,
            worked,
            Source.KERNEL,
        )

    def test_a_sign_from_the_future_counts_as_now(self):
        assert judged(LIFE, quiet(at(minutes=1), at(days=9)), now=at(minutes=1)).life.last_activity_at == at(minutes=1)


class TestLifetime:
    RULES = StopRules(idle_after=None, max_lifetime=timedelta(seconds=120), warn_before=timedelta(seconds=30))

    def test_c13_runs_at_its_lifetime_exactly_and_stops_at_the_first_tick_after(self):
        exactly = judged(LIFE, quiet(at(seconds=120)), self.RULES, now=at(seconds=120))
        after = judged(LIFE, quiet(at(seconds=120)), self.RULES, now=at(seconds=120, microseconds=1))

        assert (exactly.stop, after.stop, after.forecast.rule) == (False, True, Rule.LIFETIME)

    def test_holds_although_work_goes_on_and_although_nobody_can_tell(self):
        now = at(seconds=121)

        assert judged(LIFE, Signals(at=now, busy_kernels=2), self.RULES, now=now).stop
        assert judged(LIFE, None, replace(self.RULES, idle_after=timedelta(seconds=9)), now=now).stop


class TestWarning:
    def test_comes_before_the_stop_once_and_not_while_work_goes_on(self):
        early, near = at(minutes=7), at(minutes=8)

        assert not judged(LIFE, quiet(early), now=early).warn
        assert judged(LIFE, quiet(near), now=near).warn
        assert not judged(LIFE, quiet(near), now=near, warned=True).warn
        assert not judged(LIFE, Signals(at=near, busy_kernels=1), now=near).warn


class TestKeep:
    def test_moves_the_stop_of_either_rule(self):
        rules = replace(RULES, max_lifetime=timedelta(hours=1))
        kept = replace(LIFE, extended_until=at(hours=2))

        assert forecast(kept, rules).will_stop_at == at(hours=2)
        assert not judged(kept, quiet(at(minutes=119)), rules, now=at(minutes=119)).stop
        assert judged(kept, quiet(at(minutes=120)), rules, now=at(minutes=120)).stop

    def test_no_rule_no_stop(self):
        assert forecast(LIFE, replace(RULES, idle_after=None)).will_stop_at is None


UNREADABLE = "unreadable"


class TestNextLook:
    @pytest.mark.parametrize(
        ("minute", "reading", "rules", "again"),
        [
            (0, "quiet", HOUR, 30),  # the middle of an hour without work
            (10, "busy", HOUR, 40),
            (30, "quiet", HOUR, 50),  # a warning comes due
            (50, "quiet", HOUR, 50),  # each tick, until it stops or works
            (59, "quiet", HOUR, 59),
            (50, "busy", HOUR, 80),
            (30, UNREADABLE, HOUR, 35),
            (55, UNREADABLE, HOUR, 55),
            (70, UNREADABLE, HOUR, 75),  # unknown stops nothing, however late
            (0, "quiet", replace(HOUR, max_lifetime=timedelta(minutes=22)), 12),
            (15, "busy", replace(HOUR, max_lifetime=timedelta(minutes=22)), 15),
            (0, UNREADABLE, replace(HOUR, idle_after=None, max_lifetime=timedelta(hours=9)), 30),  # a job
            (520, UNREADABLE, replace(HOUR, idle_after=None, max_lifetime=timedelta(hours=9)), 530),
            (0, "quiet", replace(HOUR, idle_after=timedelta(minutes=5)), 0),  # shorter than the warning
        ],
    )
    def test_is_when_the_rules_have_a_question(self, minute, reading, rules, again):
        now = at(minutes=minute)
        read = {"quiet": quiet(now), "busy": Signals(at=now, busy_kernels=1), UNREADABLE: None}

        judgement = judged(LIFE, read[reading], rules, now=now)

        assert next_look(judgement, rules, now=now) == at(minutes=again)

    def test_never_misses_a_warning_or_a_stop_whatever_was_read_before(self):
        """From look to look: idle since noon, it is warned at ten to one and stops at one, to the tick."""
        now, told = NOON, list[tuple[str, datetime]]()
        while not told or told[-1][0] != "stop":
            judgement = judged(LIFE, quiet(now), HOUR, now=now, warned=bool(told))
            if judgement.warn or judgement.stop:
                told.append(("stop" if judgement.stop else "warn", now))
            now = max(next_look(judgement, HOUR, now=now), now + timedelta(seconds=30))

        assert told == [("warn", at(minutes=50)), ("stop", at(minutes=60))]
