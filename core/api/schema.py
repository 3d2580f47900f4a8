"""The OpenAPI document, from what the methods declare: every answer that can occur stands in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from core.api.fields import ProblemOutput
from core.api.inputs import Shape
from core.api.pages import DEFAULT_LIMIT, LARGEST_LIMIT
from core.api.shapes import Contract, contract_of
from core.routes import ANONYMOUS, Route

Node: TypeAlias = dict[str, object]
PROBLEM = "application/problem+json"

_MEANINGS: dict[int, tuple[str, str]] = {
    304: ("NotModified", "You have this version already."),
    400: ("Malformed", "The request cannot be understood; `errors` names the fields."),
    401: ("NotSignedIn", "No credential, or one that is not known."),
    403: ("NotAllowed", "You may see the object, the act is not yours; `permission` names what is missing."),
    404: ("NotFound", "There is no such object, or none that is yours to know of."),
    406: ("NotAcceptable", "This address does not answer in the media type that Accept asks for."),
    409: ("NotPossible", "The rules or the object's state refuse the act (`reasons`), or its first try still runs."),
    412: ("Stale", "The object has changed since the version that If-Match names."),
    413: ("TooLarge", "The body is larger than the platform accepts."),
    415: ("UnknownMediaType", "Bodies are application/json."),
    422: ("KeyReused", "The Idempotency-Key was used for another request."),
    429: ("TooManyRequests", "Wait until the minute is over."),
}
_HEADERS: dict[int, dict[str, str]] = {
    401: {"WWW-Authenticate": "How to sign in."},
    409: {"Retry-After": "Seconds to wait, where waiting helps."},
    429: {"Retry-After": "Seconds to wait."},
}
_EXAMPLE_CODES = {
    400: "invalid",
    401: "not_authenticated",
    403: "permission_denied",
    404: "not_found",
    406: "not_acceptable",
    409: "over_quota",
    412: "stale",
    413: "body_too_large",
    415: "unsupported_media_type",
    422: "idempotency_key_reused",
    429: "too_many_requests",
}


class DeclaredSchema(AutoSchema):
    """Reads `@shape` and `@route` of each method; nothing is guessed."""

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: ComponentRegistry
    ) -> Node | None:
        operation: Node | None = super().get_operation(path, path_regex, path_prefix, method, registry)
        if operation is None:
            return None
        self.resolve_serializer(ProblemOutput, "response")
        responses = cast(Node, operation["responses"])
        for status in sorted(self._problem_statuses()):
            responses.setdefault(str(status), {"$ref": f"#/components/responses/{_MEANINGS[status][0]}"})
        operation["responses"] = dict(sorted(responses.items()))
        if method == "DELETE" and self._declared.input is not None:
            operation["requestBody"] = self._word_asked_for(self._declared.input)
        return operation

    def _word_asked_for(self, asked: type[Shape[object]]) -> Node:
        """The library gives no body to a DELETE. HTTP allows one, and what ends something for good asks for a word."""
        described: Node = {"schema": self.resolve_serializer(asked, "request").ref}
        if asked.example is not None:
            described["example"] = dict(asked.example)
        return {"required": True, "content": {"application/json": described}}

    def is_excluded(self) -> bool:
        return self._contract is None

    def get_operation_id(self) -> str:
        words = [word.strip("{}").replace("-", "_") for word in self.path.split("/") if word][2:]
        return "_".join([*words, "list" if self._declared.listed else self.method.lower()])

    def get_tags(self) -> list[str]:
        return [self.path.removeprefix("/api/v1/").split("/")[0]]

    def get_summary(self) -> str:
        return self._declared.summary

    def get_description(self) -> str:  # type: ignore[override]
        route = self._route
        needs = "" if route is None else f"Needs: {route.permission}."
        doc = (self._handler.__doc__ or "").strip() if self._handler else ""
        return f"{doc}\n\n{needs}".strip()

    def get_auth(self) -> list[dict[str, list[str]]]:
        if self._route is not None and self._route.permission == ANONYMOUS:
            return [{}]
        return [{"bearer": []}, {"session": []}]

    def get_request_serializer(self) -> type[Shape[object]] | None:
        return self._declared.input

    def get_response_serializers(self) -> dict[object, object]:  # type: ignore[override]
        contract = self._declared
        if contract.output is None:
            return {contract.status: OpenApiResponse(description="Done.")}
        output = _envelope(contract.output) if contract.listed else contract.output
        found: dict[object, object] = {(contract.status, contract.media_type): output}
        found |= {(contract.status, other): output for other in contract.other_media}
        for status, meaning in contract.answers.items():
            if status < 400:
                found[(status, contract.media_type)] = OpenApiResponse(
                    contract.other_outputs.get(status, output), description=meaning
                )
        return found

    def get_override_parameters(self) -> list[object]:  # type: ignore[override]
        contract = self._declared
        found: list[object] = [contract.filters] if contract.filters else []
        if contract.listed:
            found += _PAGING
        if contract.versioned and self.method == "GET":
            found.append(_IF_NONE_MATCH)
        if contract.versioned and self.method in ("PUT", "PATCH", "DELETE"):
            found.append(_IF_MATCH)
        if self.method == "POST":
            found += [_IDEMPOTENCY_KEY, _replayed(contract.status)]
        if contract.versioned and contract.status != 204:
            found.append(_header("ETag", "The version of the object.", contract.status))
        if contract.status in (201, 202):
            found.append(_header("Location", "The object's address.", contract.status))
        if 307 in contract.answers:
            found.append(_header("Location", "Where the answer is, once.", 307))
        found += [_header(name, text, contract.status) for name, text in _RATE_HEADERS.items()]
        return found

    def get_examples(self) -> list[OpenApiExample]:
        contract = self._declared
        found = []
        if contract.input is not None and contract.input.example is not None:
            found.append(OpenApiExample("request", value=dict(contract.input.example), request_only=True))
        if contract.example is not None:
            value: Node = dict(contract.example)
            if contract.listed:
                value = {"results": [value], "next": None, "previous": None}
            found.append(OpenApiExample("answer", value=value, response_only=True, status_codes=[str(contract.status)]))
        return found

    def _is_list_view(self, serializer: object = None) -> bool:
        return False

    def map_renderers(self, attribute: str) -> list[str]:
        return ["application/json"] if attribute == "media_type" else ["json"]

    def _map_serializer(self, serializer: object, direction: str, bypass_extensions: bool = False) -> Node:
        schema: Node = super()._map_serializer(serializer, direction, bypass_extensions)  # type: ignore[no-untyped-call]
        if isinstance(serializer, Shape):
            schema["additionalProperties"] = False
        return schema

    def _problem_statuses(self) -> set[int]:
        """Where each answer can occur: the checks that run before the method, and what the method declares."""
        contract, route = self._declared, self._route
        found = {400, 406, 429, *(status for status in contract.answers if status >= 400)}
        if route is not None and route.permission != ANONYMOUS:
            found |= {401, 403, 404}
        if self.method in ("POST", "PUT", "PATCH", "DELETE"):
            found |= {413, 415}
        if self.method == "POST":
            found |= {409, 422}
        if contract.refuses:
            found.add(409)
        if contract.versioned:
            found.add(304 if self.method == "GET" else 412)
        return found

    @property
    def _handler(self) -> Callable[..., object] | None:
        return getattr(self.view, self.method.lower(), None)

    @property
    def _contract(self) -> Contract | None:
        return contract_of(self._handler)

    @property
    def _declared(self) -> Contract:
        contract = self._contract
        assert contract is not None
        return contract

    @property
    def _route(self) -> Route | None:
        return getattr(self._handler, "route", None)


def add_components(result: Node, **_: object) -> Node:
    """Post-processing: the answers and the ways to sign in that operations refer to."""
    components = cast(Node, result.setdefault("components", {}))
    components["responses"] = {name: _response(status, text) for status, (name, text) in _MEANINGS.items()}
    components["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer", "description": "A personal access token: `sty_…`."},
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "The portal's session. Writes also need the CSRF token in X-CSRFToken.",
        },
    }
    result["servers"] = [{"url": "/", "description": "This installation"}]
    return result


def _response(status: int, text: str) -> Node:
    answer: Node = {"description": text}
    headers = {
        name: {"schema": {"type": "string"}, "description": meaning}
        for name, meaning in _HEADERS.get(status, {}).items()
    }
    if headers:
        answer["headers"] = headers
    if status >= 400:
        example = {
            "type": f"urn:steelyard:problem:{_EXAMPLE_CODES[status]}",
            "title": _MEANINGS[status][0],
            "status": status,
            "detail": text,
            "code": _EXAMPLE_CODES[status],
            "instance": "urn:steelyard:request:0199aa00-0000-7000-8000-000000000001",
        }
        answer["content"] = {PROBLEM: {"schema": {"$ref": "#/components/schemas/ProblemOutput"}, "example": example}}
    return answer


def _envelope(output: type[serializers.BaseSerializer[object]]) -> type[serializers.Serializer[object]]:
    """The serializer of a page of outputs, one class per output."""
    if output not in _envelopes:
        fields = {
            "results": output(many=True),
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
        }
        name = output.__name__.removesuffix("Output") + "Page"
        _envelopes[output] = type(name, (serializers.Serializer,), fields)
    return _envelopes[output]


def _header(name: str, text: str, status: int) -> OpenApiParameter:
    return OpenApiParameter(name, str, OpenApiParameter.HEADER, description=text, response=[status])


def _replayed(status: int) -> OpenApiParameter:
    return _header("Idempotency-Replayed", "`true` where the stored answer came back.", status)


_envelopes: dict[type[serializers.BaseSerializer[object]], type[serializers.Serializer[object]]] = {}
_RATE_HEADERS = {
    "RateLimit-Limit": "Requests in a minute.",
    "RateLimit-Remaining": "Requests left in this minute.",
    "RateLimit-Reset": "Seconds until the next minute begins.",
}
_PAGING = [
    OpenApiParameter(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": LARGEST_LIMIT, "default": DEFAULT_LIMIT},
        description="Rows on a page.",
    ),
    OpenApiParameter(
        "cursor",
        {"type": "string", "pattern": "^[A-Za-z0-9_-]{23}$"},
        description="From `next` or `previous` of a page.",
    ),
]
_IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "pattern": "^[!-~]{1,200}$"},
    OpenApiParameter.HEADER,
    description="The same key within 24 hours gives the stored answer again. Use a new one for each new request.",
)
_IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description="The ETag that you have read; 412 where it has changed."
)
_IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match", str, OpenApiParameter.HEADER, description="The ETag that you have; 304 where it is unchanged."
)
