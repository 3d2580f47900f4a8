"""One act for each page that changes something: what a person sends, and on what."""

from __future__ import annotations

from collections.abc import Callable

from tests.cases.pages import console, governed, organization, sign_in, work
from tests.cases.pages.acts import Act, Stage

SCENARIOS: dict[str, Callable[[Stage], Act]] = {
    **work.SCENARIOS,
    **organization.SCENARIOS,
    **governed.SCENARIOS,
    **sign_in.SCENARIOS,
    **console.SCENARIOS,
}
