"""Serving the page on this machine: the port, who may ask, where files lie, an orderly end."""

import ipaddress
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from facefusion_ui.errors import OutputError
from facefusion_ui.registry.registry import Registry
from facefusion_ui.settings import Settings

FIRST_PORT = 7860
TRIED_PORTS = 100
FOLDER = "facefusion-ui-page-"
LOCAL_NAMES = ["127.0.0.1", "localhost"]


def find_port(host: str, asked: int | None) -> int:
    """Return the port to bind: the one asked for, or the first that is free.

    Raises:
        OutputError: it is taken, none is free, or the host is not this machine's.
    """
    ports = [asked] if asked else range(FIRST_PORT, FIRST_PORT + TRIED_PORTS)
    reason = ""
    for port in ports:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM
            )[0]
            with socket.socket(family, kind, protocol) as trial:
                if os.name == "posix":  # as the server does; on Windows it would share the port
                    trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind(address)
        except OSError as error:
            reason = error.strerror or str(error)
            continue
        return port
    if asked:
        raise OutputError(
            f"Port {asked} of {host} cannot be used: {reason}",
            hint="Choose another --port, or leave it out to get a free one.",
        )
    raise OutputError(
        f"No port from {ports[0]} to {ports[-1]} of {host} can be used: {reason}",
        hint="Give a free one with --port.",
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def served(
    registry: Registry,
    defaults: Settings,
    preset: str,
    *,
    host: str,
    port: int,
    open_browser: bool,
) -> Iterator[str]:
    """Serve the page inside the block, and give its address.

    Uploads and results lie in one new folder, the only one that is served; it goes with the block,
    after the job in hand has cleaned up.
    """
    _remove_leftovers()
    folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-"))
    os.environ["GRADIO_TEMP_DIR"] = str(folder)  # read by gradio when components are made
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    from facefusion_ui.ui.handlers import Desk
    from facefusion_ui.ui.layout import STYLE, build_page, make_theme

    guard = Middleware(TrustedHostMiddleware, allowed_hosts=[*LOCAL_NAMES, host])
    desk = Desk(registry, folder, defaults, preset)
    threading.Thread(target=desk.release_when_idle, daemon=True).start()
    page = build_page(desk)
    try:
        _, address, _ = page.launch(
            server_name=host,
            server_port=port,
            inbrowser=open_browser,
            share=False,
            quiet=True,
            prevent_thread_lock=True,
            footer_links=[],
            ssr_mode=False,
            theme=make_theme(),
            css_paths=STYLE,
            app_kwargs={"middleware": [guard]} if is_loopback(host) else {},
        )
        yield address
    finally:
        desk.close()
        page.close(verbose=False)
        shutil.rmtree(folder, ignore_errors=True)


def _remove_leftovers() -> None:
    """Remove the folders of programs that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        pid = folder.name.removeprefix(FOLDER).partition("-")[0]
        if pid.isdecimal() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)
