"""``view``: start the server, open the page, end when told to."""

import socket
import threading
import time
import webbrowser
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.errors import InputError, MissingExtraError
from ..core.progress import Say
from ..recordings import Recording

Source = Recording | str | Path


@dataclass(eq=False)
class View:
    """A page that is being served; in a notebook or a script, `close` ends it.

    Attributes
    ----------
    address : to open in a browser of this machine; it holds the token.
    """

    address: str
    _server: Any = field(repr=False, default=None)
    _thread: threading.Thread | None = field(repr=False, default=None)

    def open(self) -> "View":
        """Open the page in the browser."""
        webbrowser.open(self.address)
        return self

    def wait(self) -> None:
        """Wait until the server ends."""
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(0.2)

    def close(self) -> None:
        """End the server."""
        self._server.should_exit = True
        self._server.force_exit = True
        self.wait()


def view(
    *recordings: Source, port: int | None = None, browser: bool = True, wait: bool = False, say: Say | None = None
) -> View:
    """Look at tracks in a page of this machine's browser, find what is wrong with them, and mend it.

    Parameters
    ----------
    *recordings : one or more, or their folders.
    port : of 127.0.0.1; a free one without.
    browser : whether the page is opened.
    wait : whether to stay until the server ends (Ctrl-C).
    say : called with the address before the page is opened.
    """
    if not recordings:
        raise InputError("view: name a recording at least")
    opened = [r if isinstance(r, Recording) else Recording.open(r) for r in recordings]
    try:
        import uvicorn

        from .service import Service
    except ImportError as error:
        raise MissingExtraError(error.name or "starlette", "view", "the viewer") from None
    from .guard import Guard

    place = _bound(port)
    number = int(place.getsockname()[1])
    service = Service(opened)
    guard = Guard(service.app(), number)
    config = uvicorn.Config(
        guard,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
        limit_concurrency=200,
        h11_max_incomplete_event_size=32 * 1024,
        timeout_keep_alive=30,
        proxy_headers=False,
    )
    server = uvicorn.Server(config)

    def serve() -> None:
        try:
            server.run(sockets=[place])
        finally:
            service.close()
            place.close()

    thread = threading.Thread(target=serve, name="viewer", daemon=True)
    thread.start()
    until = time.monotonic() + 30
    while not server.started and thread.is_alive() and time.monotonic() < until:
        time.sleep(0.01)
    shown = View(f"http://127.0.0.1:{number}/?token={guard.token}", server, thread)
    if say is not None:
        say(shown.address)
    if browser:
        shown.open()
    if wait:
        try:
            shown.wait()
        finally:
            shown.close()
    return shown


def _bound(port: int | None) -> socket.socket:
    """Return a socket of this machine alone."""
    place = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind(("127.0.0.1", 0 if port is None else port))
    except (OSError, OverflowError) as error:
        place.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"--port {port}: cannot be used ({reason}); leave it out for a free one") from None
    return place
