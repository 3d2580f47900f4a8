"""Hints reach the broker from every thread that a server has."""

from __future__ import annotations

from threading import Thread

import pytest
from django.db import connection
from redis import Redis

from core.queue import enqueue_on_commit


@pytest.mark.django_db(transaction=True)
def test_a_thread_that_did_not_make_the_application_sends_to_its_broker(settings):
    broker = Redis.from_url(settings.CELERY_BROKER_URL)
    before = _waiting(broker)

    def work():
        enqueue_on_commit("core.nobody_knows_this", number=1)
        connection.close()

    thread = Thread(target=work)
    thread.start()
    thread.join(timeout=20)

    try:
        assert _waiting(broker) == before + 1
    finally:
        _forget(broker)


def _waiting(broker: Redis) -> int:
    return sum(broker.llen(key) for key in broker.keys("*") if broker.type(key) == b"list")


def _forget(broker: Redis) -> None:
    for key in broker.keys("*"):
        if broker.type(key) == b"list" and b"nobody_knows_this" in (broker.lindex(key, 0) or b""):
            broker.lpop(key)
