"""How much of the project's state migrations render again after each operation.

Django renders a changed model again together with all that it is related to in either direction, however far away. Here
everything is related to the organisation and the user, so that each of some two hundred operations rendered half of the
project, which was four fifths of what `migrate` cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db.migrations.state import ProjectState
from django.db.models import Model

ModelKey = tuple[str, str]


@contextmanager
def sparing() -> Iterator[None]:
    """Within it a changed model is rendered again with those that hold on to its class, and no others."""
    whole = ProjectState._find_reload_model  # type: ignore[attr-defined]  # its stubs leave out what is private
    ProjectState._find_reload_model = _model_and_its_holders  # type: ignore[attr-defined]
    try:
        yield
    finally:
        ProjectState._find_reload_model = whole  # type: ignore[attr-defined]


def _model_and_its_holders(state: ProjectState, app_label: str, model_name: str, *_: bool) -> set[ModelKey]:
    """All that point at it or inherit from it, and all that do so to these.

    What it points at needs nothing: relations to a model are found by asking all models. Only the accessors of a
    relation that is gone stay until everything is rendered, which `RunPython` does itself where `is_delayed` is set.
    """
    state.is_delayed = True
    found = {(app_label, model_name)}
    waiting = [state.apps.all_models[app_label].get(model_name)]
    while waiting:
        model = waiting.pop()
        for holder in _holders(model) if model else ():
            key = (holder._meta.app_label, str(holder._meta.model_name))
            if key not in found:
                found.add(key)
                waiting.append(holder)
    return found


def _holders(model: type[Model]) -> list[type[Model]]:
    pointing = [
        field.related_model
        for field in model._meta.get_fields(include_hidden=True)
        if field.auto_created and not field.concrete
    ]
    return [each for each in [*pointing, *model.__subclasses__()] if isinstance(each, type) and issubclass(each, Model)]
