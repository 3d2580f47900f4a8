"""Serves the templates with made-up context, without a database: `python -m tests.look.showroom [port]`.

Settings here are the least that the templates need, so that the look can be built and checked apart from the
application. The content security policy is the one that the portal sends.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.conf import settings
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import URLPattern, path

from tests.look import samples
from tests.look.pages import PAGES

ROOT = Path(__file__).resolve().parents[2]
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def configure() -> None:
    settings.configure(
        DEBUG=False,
        SECRET_KEY="only for looking",
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=__name__,
        INSTALLED_APPS=["django.contrib.staticfiles", "django_htmx", "django_cotton", "lucide"],
        MIDDLEWARE=[
            "django.middleware.http.ConditionalGetMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            f"{__name__}.with_policy",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "DIRS": [ROOT / "templates"],
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": ["django.template.context_processors.request"],
                    "libraries": {"look": "portal.templatetags.look"},
                },
            }
        ],
        STATIC_URL="/static/",
        STATICFILES_DIRS=[ROOT / "static" / "src"],
        USE_TZ=True,
        TIME_ZONE="Europe/Berlin",
    )
    django.setup()


def with_policy(answer: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    def guarded(request: HttpRequest) -> HttpResponseBase:
        response = answer(request)
        response["Content-Security-Policy"] = POLICY
        return response

    return guarded


def page(request: HttpRequest, name: str) -> HttpResponse:
    sample = PAGES[name]
    return render(request, sample.template, {"shell": samples.shell(name), **sample.context()}, status=sample.status)


urlpatterns: list[URLPattern] = [
    *(path(name, page, {"name": name}) for name in PAGES),
    *(path(f"named/{name}", page, {"name": "404"}, name=name) for name in samples.NAMED_ROUTES),
]


def serve(port: int = 0) -> None:
    """Serve until the process ends; the first line of output is the address."""
    application = StaticFilesHandler(WSGIHandler())
    with make_server("127.0.0.1", port, application, server_class=_Threaded, handler_class=_Quiet) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


class _Threaded(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


if __name__ == "__main__":
    configure()
    serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
