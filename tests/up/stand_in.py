"""A tiny project in place of the real one: the same command lines, none of Django."""

from __future__ import annotations

from pathlib import Path

_MANAGE = """
import json, os, pathlib, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

state = pathlib.Path(os.environ["STEELYARD_STATE"])
word = sys.argv[1]
with open(state / "commands.txt", "a") as log:
    log.write(word + " " + os.environ["DATABASE_URL"].split("//")[1].split(":")[0] + "\\n")
if (state / f"fail-{word}").exists():
    print(f"{word} is meant to fail")
    sys.exit(3)
if word == "seed_demo":
    target = pathlib.Path(sys.argv[sys.argv.index("--credentials-file") + 1])
    person = {"email": "ada@aurora.example", "password": "x", "token": "t", "organization": "aurora", "role": "owner"}
    target.write_text(json.dumps([person]))
elif word == "watch_clusters":
    while True:
        time.sleep(60)
elif word == "proxy":
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
        def log_message(self, *words):
            pass
    HTTPServer(("127.0.0.1", int(os.environ["STEELYARD_PROXY_PORT"])), Handler).serve_forever()
"""
_WSGI = """
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"ready"]
"""
_CELERY = """
import os
from celery import Celery
app = Celery("stand_in", broker=os.environ["REDIS_URL"])
"""


def make_project(root: Path) -> Path:
    """`manage.py`, `portal.wsgi` and `portal.celery`, and something that passes for a workspace environment."""
    (root / "portal").mkdir(parents=True)
    (root / "portal" / "__init__.py").touch()
    (root / "portal" / "wsgi.py").write_text(_WSGI)
    (root / "portal" / "celery.py").write_text(_CELERY)
    (root / "manage.py").write_text(_MANAGE)
    (root / ".venv-workspace" / "bin").mkdir(parents=True)
    (root / ".venv-workspace" / "bin" / "python").symlink_to("/bin/sh")
    return root
