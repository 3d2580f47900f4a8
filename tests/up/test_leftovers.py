"""What a killed server leaves in its folder does not keep the next one from starting."""

from __future__ import annotations

import os

from portal.up.leftovers import end_leftovers


def test_locks_go_whose_number_is_another_processs_by_now(tmp_path):
    data = tmp_path / "postgres" / "data"
    data.mkdir(parents=True)
    locks = [data / "postmaster.pid", data.parent / ".s.PGSQL.5432.lock"]
    for lock in locks:
        lock.write_text(f"{os.getpid()}\n")

    ended = end_leftovers(installation_id="nobody's", records=tmp_path, server_folders=[data])

    assert ended == 0
    assert not any(lock.exists() for lock in locks)
