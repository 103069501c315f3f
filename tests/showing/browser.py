"""A headless Chromium for tests of what a page does: its document after scripts ran, and every request it sent."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium")
FLAGS = (
    "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip


@contextlib.contextmanager
def proxy() -> Iterator[tuple[int, list[str]]]:
    """A proxy that answers nothing and remembers what it was asked for: its port and the addresses."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        do_GET = do_POST = do_HEAD = do_CONNECT = answer

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def run(page: Path, profile: Path, *flags: str) -> str:
    """Open a page and return what Chromium writes, with `--dump-dom` the document after its scripts ran."""
    assert CHROMIUM is not None
    sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
    command = [CHROMIUM, *FLAGS, *sandbox, f"--user-data-dir={profile}", *flags, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def document_and_requests(page: Path, profile: Path) -> tuple[str, list[str]]:
    """The document after its scripts ran, and every address it asked for."""
    with proxy() as (port, asked):
        shown = run(
            page, profile, "--dump-dom", "--virtual-time-budget=3000", f"--proxy-server=http://127.0.0.1:{port}"
        )
    return shown, asked


def axe() -> Path:
    """axe-core, the accessibility checker: the one of the development extra, or AXE_CORE names another axe.min.js."""
    named = os.environ.get("AXE_CORE")
    package = importlib.util.find_spec("axe_core_python")
    found = named or (package and package.origin and Path(package.origin).parent / "axe.min.js")
    assert found, "pip install -e '.[dev]' brings axe-core"
    return Path(found)


def title_of(document: str) -> str:
    """The title of a page, or nothing."""
    found = re.search(r"<title>(.*?)</title>", document)
    return found.group(1) if found else ""
