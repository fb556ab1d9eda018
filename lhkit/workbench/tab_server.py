"""The workbench in a browser tab of its own: a small web server for one user of this machine.

The page runs the scripts of the notebook's widget unchanged. A web socket carries what a kernel's comm carries:
updates of traits and custom messages. The server's process takes the place of a kernel: it holds the session,
and MLIR runs in its worker.

The server listens on the loopback address only. Each request needs the token, first in the address and then as
a cookie, and a ``Host`` that names this machine: a site whose name is made to resolve to 127.0.0.1 (DNS
rebinding) sends its own. Pages of other origins cannot open the web socket. The page loads nothing from
outside; its content security policy says so.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import json
import secrets
import signal
import socket
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from comm.base_comm import BaseComm
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from lhkit.draw.theme import static_text
from lhkit.model.errors import usage_error
from lhkit.pipelines.pass_page import page_script
from lhkit.workbench.widget import SCRIPT, STYLE, WorkbenchWidget

HOST = "127.0.0.1"
_LOCAL_NAMES = ("127.0.0.1", "localhost", "::1")
_ENDING_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
_UNKNOWN = "This page needs the address that lhkit explore printed, with its token."
_ELSEWHERE = "This server answers requests to 127.0.0.1 and localhost only."

_PAGE = """<!DOCTYPE html>
<html lang="en" class="lh">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>lhkit explore</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="workbench.css">
<script type="module" src="tab_page.js"></script>
</head>
<body class="lhw-tab-page"><main></main></body>
</html>
"""


class SocketComm(BaseComm):
    """The channel of a widget to the web sockets of its pages, in the place of a kernel's comm."""

    def __init__(self) -> None:
        self.sockets: set[WorkbenchSocket] = set()
        super().__init__(target_name="jupyter.widget")

    def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
        """Send an update or a custom message to every page; sockets close with the widget."""
        if msg_type == "comm_close":
            for page in tuple(self.sockets):
                page.close()
        elif msg_type == "comm_msg":
            text = json.dumps(data)
            for page in tuple(self.sockets):
                page.tell(text)

    def hear(self, content: dict[str, Any]) -> None:
        """Give a custom message of a page to the widget."""
        self.handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})


class _Guarded(RequestHandler):
    """A handler that answers only those who know the token, on this machine."""

    def initialize(self, token: str, port: int, widget: WorkbenchWidget, comm: SocketComm) -> None:
        self.token, self.cookie, self.widget, self.pages = token, f"lhkit-explore-{port}", widget, comm

    def prepare(self) -> None:
        """Refuse requests to other hosts, and those without the token."""
        if not is_local(self.request.host):
            raise HTTPError(403, reason=_ELSEWHERE)
        given = self.get_query_argument("token", "") or self.get_cookie(self.cookie) or ""
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            raise HTTPError(403, reason=_UNKNOWN)

    def set_default_headers(self) -> None:
        """Nothing is loaded from elsewhere, kept, framed or sent on."""
        self.set_header("Content-Security-Policy", _policy(self.request.host))
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-store")
        self.set_header("Cross-Origin-Resource-Policy", "same-origin")
        self.set_header("Cross-Origin-Opener-Policy", "same-origin")

    def write_error(self, status_code: int, **_: Any) -> None:
        """Answer with a sentence."""
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{status_code}: {self._reason}\n")

    def log_exception(self, *given: Any) -> None:
        """Log defects only: a refused request is no event of this program."""
        if not isinstance(given[1], HTTPError):
            super().log_exception(*given)


class _Page(_Guarded):
    def get(self) -> None:
        # Not sent with requests that other sites start, so that they can neither read nor steer the workbench.
        self.set_cookie(self.cookie, self.token, httponly=True, samesite="Strict")
        self.finish(_PAGE)


class _Static(_Guarded):
    def get(self, name: str) -> None:
        is_style = name.endswith(".css")
        self.set_header("Content-Type", f"text/{'css' if is_style else 'javascript'}; charset=utf-8")
        self.finish(_FILES[name]())


class _Missing(_Guarded):
    def get(self, *_: str) -> None:
        raise HTTPError(404)


class WorkbenchSocket(_Guarded, WebSocketHandler):
    """The web socket of one page."""

    view = ""  # the id by which the page joined

    def check_origin(self, origin: str) -> bool:
        """Return whether a page of this server asks."""
        return urlsplit(origin).netloc == self.request.host

    def open(self, *_: str, **__: str) -> None:
        """Send the whole state; updates follow."""
        keys = [key for key in self.widget.keys if key in ("view_id", "revision") or key.startswith("part_")]
        self.tell(json.dumps({"method": "update", "state": self.widget.get_state(keys)}))
        self.pages.sockets.add(self)

    def on_message(self, message: str | bytes) -> None:
        """Give a message of the page to the widget."""
        try:
            content = json.loads(message)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            self.close(1003, "a message is a JSON object")
            return
        if content.get("do") == "join":
            self.view = str(content.get("by", ""))
        self.pages.hear(content)

    def on_close(self) -> None:
        """A page that is gone has left, whether it said so or not."""
        self.pages.sockets.discard(self)
        if self.view:
            self.pages.hear({"do": "leave", "by": self.view})

    def tell(self, text: str) -> None:
        """Send a message, unless the page has gone meanwhile."""
        with contextlib.suppress(WebSocketClosedError):
            sent = self.write_message(text)
            # A task whose error is never retrieved is reported by asyncio, with a traceback.
            sent.add_done_callback(lambda done: None if done.cancelled() else done.exception())


_FILES: dict[str, Callable[[], str]] = {
    "workbench.js": lambda: SCRIPT,
    "workbench.css": lambda: f"{STYLE}\n{static_text('tab_page.css', 'workbench')}",
    "tab_page.js": lambda: static_text("tab_page.js", "workbench"),
}


def _policy(host: str) -> str:
    # The page of passes is in a frame and inherits the policy: its script is allowed by its hash. The editor is
    # a module that comes over the web socket, hence blob:.
    digest = base64.b64encode(hashlib.sha256(page_script().encode()).digest()).decode()
    local = f" ws://{host}" if is_local(host) else ""
    return (
        f"default-src 'none'; script-src 'self' blob: 'sha256-{digest}'; style-src 'self' 'unsafe-inline'; "
        f"img-src 'self' data:; connect-src 'self'{local}; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


def is_local(host: str) -> bool:
    """Return whether a ``Host`` header names the loopback address; its port may be that of a tunnel."""
    try:
        parts = urlsplit(f"//{host}")
        is_plain = parts.netloc == host and "@" not in host
        return is_plain and parts.hostname in _LOCAL_NAMES and (parts.port or 1) > 0
    except ValueError:
        return False


def listening_sockets(port: int) -> list[socket.socket]:
    """Return sockets that listen on the loopback address; port 0 is any free one.

    Raises:
        UsageError: The port is taken, or reserved.
    """
    try:
        return bind_sockets(port, HOST)
    except OSError as error:
        advice = "Choose another with --port, or leave it out: any free port is taken then."
        raise usage_error(f"port {port} cannot be used: {error.strerror or error}", advice) from None


async def serve(
    make: Callable[[], WorkbenchWidget], sockets: Sequence[socket.socket], started: Callable[[str], None]
) -> None:
    """Serve a workbench until the process is interrupted or terminated; then it is closed.

    Args:
        make: Makes the workbench, in the event loop.
        sockets: What `listening_sockets` gave; they are closed at the end.
        started: Called with the address, which holds the token, once it is answered.
    """
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    handled = _handle_signals(loop, ended)
    port, token = sockets[0].getsockname()[1], secrets.token_urlsafe(32)
    widget, comm = make(), SocketComm()
    widget.comm = comm
    known = {"token": token, "port": port, "widget": widget, "comm": comm}
    names = "|".join(name.replace(".", r"\.") for name in _FILES)
    routes = [("/", _Page, known), ("/socket", WorkbenchSocket, known), (f"/({names})", _Static, known)]
    application = Application(
        routes, log_function=lambda _: None, default_handler_class=_Missing, default_handler_args=known
    )
    server = HTTPServer(application)
    try:
        server.add_sockets(sockets)
        started(f"http://{HOST}:{port}/?token={token}")
        await ended.wait()
    finally:
        for number in handled:  # a second Ctrl-C ends what does not end by itself
            loop.remove_signal_handler(number)
        server.stop()
        widget.close()
        await server.close_all_connections()


def _handle_signals(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> list[int]:
    handled = []
    for number in (getattr(signal, name) for name in _ENDING_SIGNALS if hasattr(signal, name)):
        if signal.getsignal(number) == signal.SIG_IGN:  # nohup ignores one
            continue
        with contextlib.suppress(NotImplementedError):  # Windows: asyncio cancels the task on Ctrl-C
            loop.add_signal_handler(number, ended.set)
            handled.append(number)
    return handled
