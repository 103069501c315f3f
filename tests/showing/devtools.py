"""A headless Chromium that is spoken to: real keys and clicks, its own clock, pictures, and every request it makes."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from showing.browser import CHROMIUM, FLAGS

# Of one answer; a machine that others use may take long.
_PATIENCE_SECONDS = 120.0
# The browser reads descriptor 3 and writes 4: what was given is moved there, out of each other's way first.
_AS_DESCRIPTORS = """
import fcntl, os, sys
moved = [fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3]]
for place, one in enumerate(moved):
    os.dup2(one, 3 + place)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page of a browser, asked over its pipe: JSON, each message ended by a zero byte."""

    def __init__(self, process: subprocess.Popen[bytes], asked: int, answered: int) -> None:
        self.process = process
        self.requests: list[str] = []
        self._asked, self._answered = asked, answered
        self._number, self._rest, self._session = 0, b"", ""
        self._seen: list[dict[str, Any]] = []
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for part in ("Page", "Network", "Performance", "Runtime"):
            self.ask(f"{part}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol and return its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._asked, json.dumps(message).encode() + b"\0")
        answer = self._until(lambda one: one.get("id") == self._number)
        assert "error" not in answer, (method, answer["error"])
        return dict(answer["result"])

    def open(self, page: Path) -> None:
        """Open a file, until its load has ended and what follows from it is painted."""
        self._seen.clear()
        self.ask("Page.navigate", url=page.as_uri())
        if not any(one.get("method") == "Page.loadEventFired" for one in self._seen):
            self._until(lambda one: one.get("method") == "Page.loadEventFired")
        self.painted()

    def painted(self) -> None:
        """Wait until two frames have been drawn: what was asked before is in the second."""
        self.says("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def says(self, script: str) -> Any:
        """The value of an expression in the page, of a promise what it comes to."""
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def computed(self) -> float:
        """Seconds of CPU that the page's main thread took so far."""
        told = {one["name"]: one["value"] for one in self.ask("Performance.getMetrics")["metrics"]}
        return float(told["TaskDuration"])

    def size(self, width: int, height: int, *, telephone: bool = False) -> None:
        """Give the page a window of this size, in CSS pixels."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=2 if telephone else 1, mobile=telephone,
        )  # fmt: skip

    def click(self, x: float, y: float, count: int = 1) -> None:
        """Move the pointer there and press its left button."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            clicks = 0 if kind == "mouseMoved" else count
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=clicks)
        self.painted()

    def wheel(self, x: float, y: float, by: float) -> None:
        """Turn the wheel over a place; a negative number turns it away from oneself."""
        self.ask("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=by)
        self.painted()

    def type(self, text: str) -> None:
        """Type into what has the focus; a line's end is Enter."""
        for letter in text:
            key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13} if letter == "\n" else {"key": letter}
            spelled = "\r" if letter == "\n" else letter
            self.ask("Input.dispatchKeyEvent", type="keyDown", text=spelled, **key)
            self.ask("Input.dispatchKeyEvent", type="keyUp", **key)
        self.painted()

    def place(self, selector: str) -> tuple[float, float]:
        """Scroll an element into view and say where its middle is, in CSS pixels of the window."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.says(f"{found}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        edge = self.says(f"(e => [e.x + e.width / 2, e.y + e.height / 2])({found}.getBoundingClientRect())")
        return float(edge[0]), float(edge[1])

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write what the window shows, or all of the page, as PNG."""
        told = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(told["data"]))

    def _until(self, wanted: Any) -> dict[str, Any]:
        until = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < until:
            message = self._next()
            if message.get("method") == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
            if wanted(message):
                return message
            self._seen.append(message)
        raise TimeoutError(f"the browser did not answer within {_PATIENCE_SECONDS:.0f} s")

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = os.read(self._answered, 1 << 20)
            assert read, "the browser has ended"
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser of its own, ended afterwards; `profile` is a folder for what it keeps."""
    assert CHROMIUM is not None
    to_read, asked = os.pipe()
    answered, to_write = os.pipe()
    sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
    command = [CHROMIUM, *FLAGS, *sandbox, f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
    program = [sys.executable, "-S", "-c", _AS_DESCRIPTORS, str(to_read), str(to_write), *command]
    with subprocess.Popen(
        program, pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        os.close(to_read)
        os.close(to_write)
        try:
            shown = Browser(process, asked, answered)
            yield shown
            # What ends by itself leaves no process behind that writes into the profile.
            shown.ask("Browser.close")
            process.wait(_PATIENCE_SECONDS)
        finally:
            process.kill()
            os.close(asked)
            os.close(answered)
