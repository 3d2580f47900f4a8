from __future__ import annotations

import json

import pytest

from portal.proxy.config import ProxyConfig
from portal.proxy.gate import Refusal, Upstream
from portal.proxy.routing import label_of, local_path
from tests.proxy.conftest import PORTAL, Proxy, StartProxy
from tests.proxy.workspace import Workspace

HTML = "text/html,application/xhtml+xml"


class TestEntering:
    async def test_a_code_becomes_a_cookie_and_a_clean_address(self, proxy: Proxy) -> None:
        proxy.gate.codes["alpha", "once"] = "alice"

        answer = await proxy.get("/_steelyard/enter?code=once&next=%2Flab%2Ftree%3Fx%3D1", cookie=None)

        assert answer.status == 303
        assert answer.header("Location") == "/lab/tree?x=1"
        assert answer.header("Referrer-Policy") == "no-referrer"
        assert answer.header("Cache-Control") == "no-store"
        cookie, *attributes = answer.header("Set-Cookie").split("; ")
        assert cookie == "steelyard_workspace=alice"
        assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(attributes)
        assert not any(one.startswith(("Domain", "Secure")) for one in attributes)

    async def test_over_https_the_cookie_is_bound_to_the_host(self, start_proxy: StartProxy) -> None:
        proxy = await start_proxy(https=True)
        proxy.gate.codes["alpha", "once"] = "alice"

        answer = await proxy.get("/_steelyard/enter?code=once", cookie=None)

        assert answer.header("Set-Cookie").startswith("__Host-steelyard_workspace=alice; Path=/;")
        assert answer.header("Set-Cookie").endswith("; Secure")

    async def test_a_code_works_once_and_only_for_its_own_workspace(self, proxy: Proxy) -> None:
        proxy.gate.codes["alpha", "once"] = "alice"

        elsewhere = await proxy.get("/_steelyard/enter?code=once", label="beta", cookie=None)
        first = await proxy.get("/_steelyard/enter?code=once", cookie=None)
        second = await proxy.get("/_steelyard/enter?code=once", cookie=None, Accept=HTML)

        assert [elsewhere.status, first.status, second.status] == [410, 303, 410]
        assert PORTAL.encode() in second.body
        assert not second.header("Set-Cookie")

    async def test_only_get_spends_a_code(self, proxy: Proxy) -> None:
        proxy.gate.codes["alpha", "once"] = "alice"

        statuses = [
            (await proxy.send(method, "/_steelyard/enter?code=once", proxy.headers(cookie=None))).status
            for method in ("HEAD", "POST", "OPTIONS")
        ]

        assert statuses == [405] * 3
        assert proxy.gate.codes

    @pytest.mark.parametrize(
        "wanted",
        [
            "//evil.test",
            "https://evil.test",
            "/\\evil.test",
            "\\\\evil.test",
            "evil",
            "",
            "/a\r\nX: y",
            "/_steelyard/enter?code=x",
        ],
    )
    def test_leads_nowhere_but_to_a_path_of_its_own(self, wanted: str) -> None:
        assert local_path(wanted) == "/"

    async def test_codes_and_queries_and_cookies_are_never_logged(self, proxy: Proxy) -> None:
        proxy.gate.codes["alpha", "secret-code"] = "secret-cookie"
        proxy.gate.let_in("alpha", "secret-cookie", proxy.gate.upstreams["alpha"])
        await proxy.get("/_steelyard/enter?code=secret-code", cookie=None)
        await proxy.get("/lab?token=secret-query", cookie="secret-cookie")
        await proxy.server.stop()

        lines = [json.loads(line) for line in proxy.log.getvalue().splitlines()]

        assert [(line["path"], line["status"]) for line in lines] == [("/_steelyard/enter", 303), ("/lab", 200)]
        assert "secret" not in proxy.log.getvalue()

    async def test_other_paths_of_ours_are_never_forwarded(self, proxy: Proxy, workspace: Workspace) -> None:
        answer = await proxy.get("/_steelyard/anything")

        assert answer.status == 404
        assert workspace.seen == []


class TestWithoutAPass:
    async def test_a_person_is_shown_the_way_to_the_portal(self, proxy: Proxy) -> None:
        answer = await proxy.get("/lab", cookie=None, Accept=HTML)

        assert answer.status == 401
        assert f'href="{PORTAL}"'.encode() in answer.body
        assert "script" not in answer.header("Content-Security-Policy")

    async def test_a_person_is_led_back_where_the_portal_has_an_address_for_it(self, start_proxy: StartProxy) -> None:
        proxy = await start_proxy(reentry_url=PORTAL + "/enter/{label}?next={next}")

        page = await proxy.get("/lab?x=1", cookie=None, Accept=HTML)
        call = await proxy.get("/api/kernels", cookie=None)

        assert page.status == 303
        assert page.header("Location") == f"{PORTAL}/enter/alpha?next=%2Flab%3Fx%3D1"
        assert call.status == 401

    async def test_a_workspace_that_exists_and_one_that_does_not_look_the_same(self, proxy: Proxy) -> None:
        known = await proxy.get("/", label="alpha", cookie=None, Accept=HTML)
        unknown = await proxy.get("/", label="nothing", cookie=None, Accept=HTML)

        assert (known.status, known.body) == (unknown.status, unknown.body)
        assert proxy.gate.admitted == 0

    async def test_another_persons_workspace_is_not_there(self, proxy: Proxy, workspace: Workspace) -> None:
        proxy.gate.upstreams["beta"] = Refusal(403, "forbidden", "belongs to Charlie")
        proxy.gate.passes["beta", "alice"] = "x"

        answer = await proxy.get("/", label="beta", Accept=HTML)

        assert answer.status == 404
        assert b"Charlie" not in answer.body
        assert workspace.seen == []

    async def test_a_cookie_planted_by_a_neighbour_does_not_lock_anyone_out(self, proxy: Proxy) -> None:
        head = proxy.headers()
        head["Cookie"] = "steelyard_workspace=planted; steelyard_workspace=alice"

        assert (await proxy.send("GET", "/", head)).status == 200


class TestHosts:
    @pytest.mark.parametrize(
        "host",
        [
            "localhost",
            "127.0.0.1:80",
            "alpha.evil.test",
            "a.alpha.localhost",
            "alpha.localhost.",
            "-a.localhost",
            "alpha.localhost:x",
        ],
    )
    def test_a_host_that_is_no_workspace_has_no_label(self, host: str) -> None:
        assert label_of(host, "localhost") is None

    async def test_an_unknown_host_is_not_found_and_health_is_on_the_bare_one(self, proxy: Proxy) -> None:
        nothing = await proxy.send("GET", "/", {"Host": "evil.test"})
        health = await proxy.send("GET", "/_steelyard/health", {"Host": "localhost"})

        assert nothing.status == 404
        assert (health.status, json.loads(health.body)) == (200, {"status": "ok"})


class TestOrigins:
    async def test_an_unsafe_request_from_another_origin_is_refused(self, proxy: Proxy, workspace: Workspace) -> None:
        own = f"http://alpha.localhost:{proxy.port}"

        statuses = [
            (await proxy.send("POST", "/", proxy.headers(Origin=origin), b"")).status
            for origin in (own, "http://beta.localhost", "null", own.replace("http", "https"))
        ]

        assert statuses == [200, 403, 403, 403]
        assert len(workspace.seen) == 1

    async def test_a_neighbours_page_may_link_here_but_not_read_or_frame(self, proxy: Proxy) -> None:
        def fetched(mode: str, dest: str) -> dict[str, str]:
            return {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": mode, "Sec_Fetch_Dest": dest}

        statuses = [
            (await proxy.get("/", **fetched(mode, dest))).status
            for mode, dest in (
                ("navigate", "document"),
                ("no-cors", "script"),
                ("navigate", "iframe"),
                ("cors", "empty"),
            )
        ]

        assert statuses == [200, 403, 403, 403]


class TestNotThere:
    @pytest.mark.parametrize("code", ["starting", "stopped", "failed"])
    async def test_the_page_says_what_is_the_case_and_looks_again(self, proxy: Proxy, code: str) -> None:
        proxy.gate.upstreams["alpha"] = Refusal(503, code, "Started 4 seconds ago.")

        page = await proxy.get("/lab", Accept=HTML)
        call = await proxy.get("/api/status")

        assert page.status == call.status == 503
        assert page.header("Retry-After") == "3"
        assert b'http-equiv="refresh"' in page.body
        assert b"Started 4 seconds ago." in page.body
        assert json.loads(call.body)["code"] == code

    async def test_a_gatekeeper_that_does_not_answer_lets_nobody_in(self, proxy: Proxy, workspace: Workspace) -> None:
        proxy.gate.silent = True

        assert (await proxy.get("/")).status == 503

        assert workspace.seen == []

    async def test_the_root_leads_to_the_programs_own_base(self, proxy: Proxy, workspace: Workspace) -> None:
        proxy.gate.upstreams["alpha"] = Upstream(pass_key="", unix_socket=str(workspace.path), base_path="/w/1/")

        root, below = await proxy.get("/"), await proxy.get("/w/1/lab")

        assert (root.status, root.header("Location")) == (303, "/w/1/")
        assert json.loads(below.body)["path"] == "/w/1/lab"


def test_names_of_ours_are_private_with_every_prefix() -> None:
    config = ProxyConfig(domain="localhost", portal_url=PORTAL, portal_cookies=frozenset({"__Host-sessionid"}))

    assert {"sessionid", "__host-sessionid", "__secure-sessionid", "steelyard_workspace"} <= config.private_cookies
