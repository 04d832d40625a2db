"""Who may talk to the page's server: this machine's browser, with the token, and nobody through it."""

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

MOST_BODY = 64 * 1024  # bytes of a request
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_ALWAYS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


class Guard:
    """Stands before the application (ASGI).

    A request must name this server as its host, so that another name that leads here (DNS rebinding) is refused; come
    from no page of another origin; and carry the token, which the address that is opened turns into a cookie that
    scripts cannot read and other sites cannot send.

    Parameters
    ----------
    app : the application.
    port : of the server.
    token : known to whoever read the address in the terminal.
    """

    def __init__(self, app: Any, port: int, token: str | None = None) -> None:
        self.app, self.port = app, port
        self.token = secrets.token_urlsafe(24) if token is None else token
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self.cookie = f"trackfish3d_{port}"  # cookies do not know ports: two servers must not share one

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        refused = self._refused(scope, headers)
        if refused is not None:
            await _answer(send, *refused)
            return
        if scope["method"] == "GET" and scope["path"] == "/" and b"token=" in scope["query_string"]:
            await self._enter(scope, send)
            return
        if not self._known(headers):
            await _answer(send, 401, "open the address that 'trackfish3d view' printed, with its token")
            return
        await self._pass(scope, receive, send)

    def _refused(self, scope: Any, headers: dict[str, str]) -> tuple[int, str] | None:
        if headers.get("host", "").lower() not in self.hosts:
            return 421, "this server answers to 127.0.0.1 only"
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{h}" for h in self.hosts}:
            return 403, "a page of another origin asked"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            entering = scope["method"] == "GET" and scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
            if not entering:
                return 403, "another site asked"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "not allowed"
        if scope["method"] == "POST":
            if origin is None:
                return 403, "a request that changes something must name its origin"
            if headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
                return 415, "send JSON"
            length = headers.get("content-length", "")
            if length.isdecimal() and int(length) > MOST_BODY:
                return 413, f"at most {MOST_BODY} bytes"
        return None

    def _known(self, headers: dict[str, str]) -> bool:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode(), self.token.encode())

    async def _enter(self, scope: Any, send: Any) -> None:
        said = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not hmac.compare_digest(said.encode(), self.token.encode()):
            await _answer(send, 401, "the token in the address is not this server's; it changes with every start")
            return
        cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        more = [(b"set-cookie", cookie.encode()), (b"location", b"/")]
        await _answer(send, 303, "", more)

    async def _pass(self, scope: Any, receive: Any, send: Any) -> None:
        taken = await _body(receive) if scope["method"] == "POST" else b""
        if taken is None:
            await _answer(send, 413, f"at most {MOST_BODY} bytes", [(b"connection", b"close")])
            return
        given = False

        async def replayed() -> Any:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": taken, "more_body": False}

        async def marked(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = [h for h in message.get("headers", []) if h[0].lower() != b"server"]
                message = message | {"headers": [*headers, *_ALWAYS]}
            await send(message)

        await self.app(scope, replayed, marked)


async def _body(receive: Any) -> bytes | None:
    """Return the body of a request; None where it is larger than any of the page's, of which no more is taken."""
    taken = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(taken)
        taken += message.get("body", b"")
        if len(taken) > MOST_BODY:
            return None
        if not message.get("more_body", False):
            return bytes(taken)


async def _answer(send: Any, status: int, text: str, more: list[tuple[bytes, bytes]] | None = None) -> None:
    body = text.encode() + (b"\n" if text else b"")
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    headers += [(b"cache-control", b"no-store"), *_ALWAYS, *(more or [])]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
