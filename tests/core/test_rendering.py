"""Migrations render few models again, and what they then see is what a whole rendering shows."""

from __future__ import annotations

import pytest
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from core.rendering import sparing


@pytest.fixture(scope="module")
def steps():
    """The whole project's migrations, in the order in which a fresh database gets them."""
    loader = MigrationLoader(None)
    plan = dict.fromkeys(step for leaf in loader.graph.leaf_nodes() for step in loader.graph.forwards_plan(leaf))
    return [loader.graph.nodes[step] for step in plan]


def test_every_model_points_at_what_is_there_and_is_related_as_in_a_whole_rendering(steps):
    state = ProjectState()
    with sparing():
        assert relations(state) == {}
        for step in steps:
            for operation in step.operations:
                operation.state_forwards(step.app_label, state)
            assert [stale for model in state.apps.get_models() for stale in stale_targets(state, model)] == []

    assert state.is_delayed, "RunPython renders everything itself where this is set"
    assert relations(state) == relations(ProjectState(state.models))


def stale_targets(state, model):
    """Whatever a model holds on to that was replaced or removed since."""
    targets = [field.remote_field.model for field in model._meta.local_fields if field.is_relation]
    targets += [field.remote_field.model for field in model._meta.local_many_to_many]
    targets += [field.remote_field.through for field in model._meta.local_many_to_many]
    targets += [base for base in model.__bases__ if hasattr(base, "_meta") and not base._meta.abstract]
    for target in targets:
        if state.apps.all_models[target._meta.app_label].get(target._meta.model_name) is not target:
            yield f"{model._meta.label} → {target._meta.label}"


def relations(state):
    """Every field of every model, those that others' relations make included."""
    return {
        model._meta.label: sorted(
            (field.name, str(getattr(field, "related_model", None) and field.related_model._meta.label))
            for field in model._meta.get_fields(include_hidden=True)
        )
        for model in state.apps.get_models(include_auto_created=True)
    }
