"""`python -m portal.up.prepare`: roles, grants and extensions in a database that is not ours to start.

Reads DATABASE_OWNER_URL and takes the web role's password from DATABASE_URL.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from portal.up.errors import CannotStart
from portal.up.roles import APP_ROLE, prepare


def main(variables: Mapping[str, str] = os.environ) -> int:
    try:
        prepare_from(variables)
    except CannotStart as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def prepare_from(variables: Mapping[str, str]) -> None:
    web = urlsplit(variables.get("DATABASE_URL", ""))
    owner_url = variables.get("DATABASE_OWNER_URL")
    if not owner_url or web.username != APP_ROLE or not web.password:
        raise CannotStart(
            "Give the owner's address in DATABASE_OWNER_URL and the web role's "
            f"({APP_ROLE}, with its password) in DATABASE_URL."
        )
    prepare(owner_url, unquote(web.password))


if __name__ == "__main__":
    sys.exit(main())
