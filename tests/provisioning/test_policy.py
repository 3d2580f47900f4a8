"""What follows from what is seen: the reconciler's policy, row by row."""

from __future__ import annotations

import pytest

from provisioning.drivers.base import Observation, Phase, Reason
from provisioning.enums import DesiredState as D
from provisioning.enums import State as S
from provisioning.reconciler.policy import Call, Pace, Situation, call_for, next_step

UP = Observation(Phase.RUNNING, ready=True)
DEAF = Observation(Phase.RUNNING)
STARTING = Observation(Phase.STARTING)
STOPPING = Observation(Phase.STOPPING)
STOPPED = Observation(Phase.STOPPED)
LEFT = Observation(Phase.STOPPED, reason=Reason("exited", "It ended with status 0."))
EVICTED = Observation(Phase.STOPPED, reason=Reason("evicted", "The node was low on memory."))
UNPULLED = Observation(Phase.STARTING, reason=Reason("image_pull_failed", "The image cannot be had."))
QUEUED = Observation(Phase.STARTING, reason=Reason("kueue_pending", "It waits in Kueue's queue."))
SILENT = Observation(Phase.STARTING, reason=Reason("kueue_silent", "Kueue has not taken it up yet."))
PREEMPTED = Observation(Phase.STOPPED, reason=Reason("preempted_by_kueue", "Kueue took it back."))
REBOOTED = Observation(Phase.STOPPED, reason=Reason("machine_restarted", "The machine was restarted."))
FAILED = Observation(Phase.FAILED, reason=Reason("out_of_memory", "It used more memory than it has."))
ABSENT = Observation(Phase.ABSENT)


class TestCalls:
    @pytest.mark.parametrize(
        ("state", "desired", "ends_as", "has_run", "call"),
        [
            (S.REQUESTED, D.RUNNING, S.STOPPED, False, Call.READMIT),
            (S.REQUESTED, D.STOPPED, S.STOPPED, False, Call.NOTHING),
            (S.QUEUED, D.RUNNING, S.STOPPED, False, Call.ADMIT),
            (S.PROVISIONING, D.RUNNING, S.STOPPED, False, Call.PRESENT),
            (S.RUNNING, D.RUNNING, S.STOPPED, True, Call.OBSERVE),
            (S.STOPPING, D.STOPPED, S.STOPPED, True, Call.STOP),
            (S.STOPPING, D.STOPPED, S.STOPPED, False, Call.STOP),
            (S.STOPPING, D.RUNNING, S.FAILED, False, Call.ABSENT),
            (S.STOPPING, D.RUNNING, S.FAILED, True, Call.STOP),
            (S.STOPPED, D.STOPPED, S.STOPPED, True, Call.NOTHING),
            (S.STOPPED, D.RUNNING, S.STOPPED, True, Call.READMIT),
            (S.FAILED, D.RUNNING, S.FAILED, False, Call.NOTHING),
            (S.SUCCEEDED, D.RUNNING, S.STOPPED, True, Call.NOTHING),
            (S.DELETING, D.DELETED, S.STOPPED, True, Call.ABSENT),
            (S.DELETED, D.DELETED, S.STOPPED, True, Call.NOTHING),
        ],
    )
    def test_each_state_and_wish_has_one(self, state, desired, ends_as, has_run, call):
        assert call_for(state, desired, ends_as, has_run=has_run) is call


def step(state, seen, *, late=False, ends_as=S.STOPPED, has_run=True):
    trouble = "" if seen is not None else "no route to host"
    return next_step(
        Situation(state, D.RUNNING, ends_as, has_run=has_run, late=late, observation=seen, trouble=trouble)
    )


class TestMoves:
    @pytest.mark.parametrize(
        ("state", "seen", "late", "to", "reason", "ends_as"),
        [
            (S.PROVISIONING, UP, False, S.RUNNING, None, None),
            (S.PROVISIONING, UP, True, S.RUNNING, None, None),
            (S.PROVISIONING, FAILED, False, S.STOPPING, "out_of_memory", S.FAILED),
            (S.PROVISIONING, LEFT, False, S.STOPPING, "exited", S.STOPPED),
            (S.PROVISIONING, STARTING, True, S.STOPPING, "start_timeout", S.FAILED),
            (S.PROVISIONING, DEAF, True, S.STOPPING, "start_timeout", S.FAILED),
            (S.PROVISIONING, ABSENT, True, S.STOPPING, "start_timeout", S.FAILED),
            (S.PROVISIONING, None, True, S.STOPPING, "start_timeout", S.FAILED),
            (S.RUNNING, FAILED, False, S.STOPPING, "out_of_memory", S.FAILED),
            (S.RUNNING, LEFT, False, S.STOPPING, "exited", S.STOPPED),
            (S.RUNNING, REBOOTED, False, S.STOPPING, "machine_restarted", S.STOPPED),
            (S.RUNNING, EVICTED, False, S.STOPPING, "evicted", S.STOPPED),
            (S.RUNNING, PREEMPTED, False, S.STOPPING, "preempted_by_kueue", S.STOPPED),
            (S.PROVISIONING, PREEMPTED, True, S.STOPPING, "preempted_by_kueue", S.STOPPED),
            (S.PROVISIONING, SILENT, True, S.STOPPING, "kueue_silent", S.FAILED),
            (S.PROVISIONING, UNPULLED, True, S.STOPPING, "image_pull_failed", S.FAILED),
            (S.RUNNING, ABSENT, False, S.STOPPING, "lost", S.FAILED),
            (S.STOPPING, STOPPED, False, S.STOPPED, None, None),
            (S.STOPPING, FAILED, False, S.STOPPED, None, None),
            (S.STOPPING, ABSENT, True, S.STOPPED, None, None),
            (S.DELETING, ABSENT, False, S.DELETED, None, None),
        ],
    )
    def test_lead_where_the_table_says(self, state, seen, late, to, reason, ends_as):
        move = step(state, seen, late=late).move

        assert move
        assert (move.to, move.reason.code if move.reason else None, move.ends_as) == ((to,), reason, ends_as)

    def test_an_end_that_nobody_wished_keeps_the_wish_only_where_the_platform_is_to_blame(self):
        blamed, left = step(S.RUNNING, REBOOTED).move, step(S.RUNNING, LEFT).move

        assert blamed
        assert left
        assert (blamed.desired, left.desired) == (None, D.STOPPED)

    def test_a_failed_start_is_over_only_when_nothing_is_left(self):
        assert step(S.STOPPING, STOPPED, ends_as=S.FAILED, has_run=False).move is None
        ended = step(S.STOPPING, ABSENT, ends_as=S.FAILED, has_run=False).move
        assert ended
        assert ended.to == (S.FAILED,)

    def test_the_clusters_own_word_for_unschedulable_is_the_reason(self):
        seen = Observation(Phase.STARTING, reason=Reason("unschedulable", "0 of 3 nodes have an H100 free."))

        move = step(S.PROVISIONING, seen, late=True).move

        assert move
        assert move.reason
        assert move.reason.code == "unschedulable"


class TestWaits:
    @pytest.mark.parametrize(
        ("state", "seen", "late", "reason", "pace"),
        [
            (S.PROVISIONING, STARTING, False, "starting", Pace.SOON),
            (S.PROVISIONING, DEAF, False, "starting", Pace.SOON),
            (S.PROVISIONING, None, False, "cluster_unreachable", Pace.LATER),
            (S.PROVISIONING, QUEUED, False, "kueue_pending", Pace.LATER),
            (S.PROVISIONING, QUEUED, True, "kueue_pending", Pace.LATER),
            (S.RUNNING, UP, False, None, Pace.LATER),
            (S.RUNNING, None, False, None, Pace.LATER),
            (S.RUNNING, STOPPING, False, None, Pace.LATER),
            (S.STOPPING, STOPPING, False, None, Pace.SOON),
            (S.STOPPING, STOPPING, True, "stopping_slowly", Pace.SOON),
            (S.STOPPING, None, True, "stopping_retrying", Pace.LATER),
            (S.DELETING, STOPPED, False, "deleting", Pace.SOON),
            (S.DELETING, STOPPING, True, "deleting_slowly", Pace.SOON),
            (S.DELETING, None, False, "deleting_retrying", Pace.LATER),
            (S.FAILED, None, False, None, Pace.NEVER),
        ],
    )
    def test_say_why(self, state, seen, late, reason, pace):
        waiting = step(state, seen, late=late)

        assert waiting.move is None
        assert (waiting.reason.code if waiting.reason else None, waiting.pace) == (reason, pace)

    def test_only_in_a_queue_of_the_clusters_own_has_no_deadline(self):
        assert step(S.PROVISIONING, QUEUED).unhurried
        assert not step(S.PROVISIONING, SILENT).unhurried
