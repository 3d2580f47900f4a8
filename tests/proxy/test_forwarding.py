from __future__ import annotations

import asyncio
import json
import re

from portal.proxy.config import Clocks
from portal.proxy.gate import Upstream
from tests.proxy.conftest import Proxy, StartProxy
from tests.proxy.workspace import Workspace

CHUNKS = b"3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: x\r\n\r\n"


def said(proxy: Proxy, request: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [
        f"{request} HTTP/1.1",
        f"Host: alpha.localhost:{proxy.port}",
        "Cookie: steelyard_workspace=alice",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class TestWhatTheWorkspaceSees:
    async def test_gets_path_query_and_host_unchanged(self, proxy: Proxy) -> None:
        answer = await proxy.get("/a%20b/c?x=1&y=%2F")

        seen = json.loads(answer.body)
        assert answer.status == 200
        assert seen["path"] == "/a%20b/c?x=1&y=%2F"
        assert seen["headers"]["host"] == f"alpha.localhost:{proxy.port}"

    async def test_gets_no_credential_of_ours(self, proxy: Proxy) -> None:
        head = proxy.headers(Authorization="Bearer portal-token")
        head["Cookie"] += "; sessionid=portal; __Host-csrftoken=portal; _xsrf=kept; __Secure-messages=portal"

        seen = json.loads((await proxy.send("GET", "/", head)).body)["headers"]

        assert seen["cookie"] == "_xsrf=kept"
        assert "authorization" not in seen

    async def test_is_told_by_us_alone_how_the_request_came(self, proxy: Proxy) -> None:
        head = proxy.headers() | {
            "X-Forwarded-Proto": "https",
            "X-Forwarded-Host": "bank.test",
            "X-Forwarded-For": "10.0.0.1",
            "X_Forwarded_For": "10.0.0.1",
            "Forwarded": "for=10.0.0.1",
            "X-Real-IP": "10.0.0.1",
            "Connection": "keep-alive, X-Private",
            "X-Private": "between us",
        }

        seen = json.loads((await proxy.send("GET", "/", head)).body)["headers"]

        assert {name: value for name, value in seen.items() if "forwarded" in name} == {
            "x-forwarded-proto": "http",
            "x-forwarded-host": f"alpha.localhost:{proxy.port}",
        }
        assert not {"x-real-ip", "x-private"} & set(seen)

    async def test_gets_bodies_of_both_framings(self, proxy: Proxy) -> None:
        head = proxy.headers()

        sized = await proxy.send("POST", "/", head, b"hello")
        chunked = await proxy.raw(
            said(
                proxy,
                "POST /",
                "Transfer-Encoding: chunked",
                "Connection: close",
                body=CHUNKS,
            )
        )

        assert json.loads(sized.body)["body"] == "hello"
        seen = json.loads(chunked.partition(b"\r\n\r\n")[2])
        assert seen["body"] == "hello"
        assert "trailer" not in seen["headers"]


class TestWhatTheBrowserSees:
    async def test_gets_no_cookie_that_could_reach_the_portal(self, proxy: Proxy) -> None:
        answer = await proxy.get("/cookies")

        assert answer.all("Set-Cookie") == ["_xsrf=1; Path=/"]

    async def test_head_has_a_length_and_no_body_and_the_connection_lives_on(self, proxy: Proxy) -> None:
        answers = await proxy.raw(said(proxy, "HEAD /big/1?length") + said(proxy, "GET /after", "Connection: close"))

        first, _, rest = answers.partition(b"\r\n\r\n")
        assert b"content-length: 1048576" in first
        assert rest.startswith(b"HTTP/1.1 200 OK")
        assert b'"/after"' in rest

    async def test_http_1_0_gets_no_chunks(self, proxy: Proxy) -> None:
        request = said(proxy, "GET /big/1").replace(b"HTTP/1.1", b"HTTP/1.0")

        answer = await proxy.raw(request)

        head, _, body = answer.partition(b"\r\n\r\n")
        assert b"transfer-encoding" not in head.lower()
        assert body == bytes(range(256)) * 4096

    async def test_expect_continue_is_answered_before_the_body(self, proxy: Proxy) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(said(proxy, "POST /", "Content-Length: 2", "Expect: 100-continue", "Connection: close"))

        interim = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 2)
        writer.write(b"ok")
        answer = await asyncio.wait_for(reader.read(), 2)

        assert interim == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert b'"body": "ok"' in answer
        writer.close()


class TestPipelining:
    async def test_answers_come_in_the_order_of_the_requests(self, proxy: Proxy, workspace: Workspace) -> None:
        requests = b"".join(said(proxy, f"GET /{number}") for number in range(50))
        post = said(proxy, "POST /last", "Content-Length: 4", "Connection: close", body=b"body")

        answers = await proxy.raw(requests + post)

        assert answers.count(b"HTTP/1.1 200 OK") == 51
        assert workspace.seen == [f"GET /{number}" for number in range(50)] + ["POST /last"]
        places = [answers.index(b'"path": "/%d"' % number) for number in range(50)]
        assert places == sorted(places)

    async def test_a_refusal_keeps_its_place(self, proxy: Proxy) -> None:
        stranger = said(proxy, "GET /no").replace(b"alice", b"mallory")

        answers = await proxy.raw(said(proxy, "GET /1") + stranger + said(proxy, "GET /2", "Connection: close"))

        assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"200", b"401", b"200"]

    async def test_one_client_cannot_queue_without_end(self, proxy: Proxy) -> None:
        answers = await proxy.raw(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 5000)

        assert answers.count(b" 404 ") <= 128
        assert b" 400 " in answers


class TestConnections:
    async def test_one_connection_carries_many_requests(self, start_proxy: StartProxy, workspace: Workspace) -> None:
        proxy = await start_proxy(clocks=Clocks(drain=0.2))
        for number in range(10):
            assert (await proxy.get(f"/{number}")).status == 200
            assert (await proxy.send("POST", "/", proxy.headers(), b"x")).status == 200
            assert (await proxy.send("HEAD", "/x", proxy.headers())).status == 200

        assert len(workspace.connections) == 1
        assert proxy.gate.admitted == 1

    async def test_a_workspace_that_restarts_is_reached_again(self, proxy: Proxy, workspace: Workspace) -> None:
        assert (await proxy.get("/")).status == 200

        await workspace.stop()
        gone = await proxy.get("/", Accept="text/html")
        await workspace.start()
        back = await proxy.get("/")

        assert gone.status == 503
        assert gone.header("Retry-After") == "3"
        assert b'http-equiv="refresh"' in gone.body
        assert back.status == 200

    async def test_a_request_is_not_lost_to_a_connection_that_had_just_ended(self, start_proxy: StartProxy) -> None:
        """A workspace that closes after each answer without having said so."""
        proxy = await start_proxy()
        served = 0

        async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal served
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            served += 1
            await reader.read(1)
            writer.transport.abort()

        server = await asyncio.start_server(serve_one, "127.0.0.1", 0)
        proxy.gate.let_in("beta", "alice", _tcp(server.sockets[0].getsockname()[1]))
        answers = [await proxy.get("/", label="beta") for _ in range(4)]
        server.close()

        assert [answer.status for answer in answers] == [200] * 4
        assert served == 4

    async def test_a_client_that_leaves_ends_the_work_behind_it(self, proxy: Proxy, workspace: Workspace) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(said(proxy, "GET /drip"))
        await asyncio.sleep(0.2)

        writer.close()

        await asyncio.wait_for(workspace.cancelled.wait(), 2)


def _tcp(port: int) -> Upstream:
    return Upstream(pass_key="", host="127.0.0.1", port=port)
