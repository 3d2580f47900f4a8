"""The floor of row e1: `values()` and JSON, beside the API in the same server. It knows neither people nor tenants."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import HttpRequest, JsonResponse
from django.urls import path

from core.routes import ANONYMOUS, route
from portal.urls import urlpatterns as ours
from provisioning.api.outputs import ROW_COLUMNS
from provisioning.models import Workload

PEER = "/bench/values"


@route(permission=ANONYMOUS, verb="bench.listed", scoped=False)
def values(_request: HttpRequest) -> JsonResponse:
    rows = QuerySet(Workload).order_by("-id").values(*ROW_COLUMNS)[:50]
    return JsonResponse({"results": list(rows)})


urlpatterns = [path(PEER[1:], values), *ours]
