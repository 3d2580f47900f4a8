"""`python -m portal.up.with_servers COMMAND …`: run one command beside throw-away servers. Its exit status is ours."""

from __future__ import annotations

import os
import subprocess
import sys

from portal.up.ephemeral import servers
from portal.up.errors import CannotStart


def main(words: list[str]) -> int:
    try:
        with servers() as running:
            addresses = {"DATABASE_URL": running.owner_url, "REDIS_URL": running.redis_url}
            return subprocess.run(words, env=os.environ | addresses, check=False).returncode
    except CannotStart as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
