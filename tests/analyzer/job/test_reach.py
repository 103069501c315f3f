"""Schedulers that cannot be reached: what is wrong with each is said, within the time that is stated."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzer.job.engines import reach
from analyzer.job.engines.cluster import ClusterEngine
from analyzer.job.engines.reach import why_unreachable
from analyzer.options import Options
from traces.errors import UnreadableTraceError


@pytest.fixture
def silent() -> Iterator[int]:
    """A port at which somebody listens and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_nobody_listens() -> None:
    port = closed_port()
    why = why_unreachable(f"tcp://127.0.0.1:{port}", 20)
    assert why == f"nothing listens at 127.0.0.1, port {port} (connection refused)"
    assert why_unreachable(f"127.0.0.1:{port}", 20) == why


def test_whoever_listens_and_says_nothing_is_no_scheduler(silent: int) -> None:
    began = time.monotonic()
    assert "does not speak as a scheduler does" in why_unreachable(f"tcp://127.0.0.1:{silent}", 0.5)
    assert time.monotonic() - began < 5
    # Of an encrypted one the other side has the first word.
    assert why_unreachable(f"tls://127.0.0.1:{silent}", 20) == ""


def test_a_scheduler_has_the_first_word() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"\x01")

        thread = threading.Thread(target=answer)
        thread.start()
        assert why_unreachable(f"127.0.0.1:{server.getsockname()[1]}", 20) == ""
        thread.join()


def test_a_host_that_never_answers_and_a_name_that_is_never_found_take_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As behind a firewall that drops what comes, and with a name server that is gone."""
    ended = threading.Event()

    def waits(*_: object, **__: object) -> object:
        ended.wait(60)
        raise TimeoutError

    with monkeypatch.context() as patched:
        patched.setattr(reach.socket, "create_connection", waits)
        assert "is there a firewall between?" in why_unreachable("10.255.255.1:8786", 0.3)
    monkeypatch.setattr(reach.socket, "getaddrinfo", waits)
    assert why_unreachable("node7:8786", 0.3) == "the name node7 was not resolved within 0 s"
    ended.set()


def test_a_name_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(reach.socket, "getaddrinfo", unknown)
    assert why_unreachable("node7:8786", 20) == "the name node7 is not known here (Name or service not known)"


@pytest.mark.parametrize("address", ["node7", "tcp://node7", "node:7:x", "", "tcp://:8786", "node7:99999"])
def test_what_is_no_address_is_said_so(address: str) -> None:
    assert "HOST:PORT" in why_unreachable(address, 20)


def test_other_ways_to_talk_are_left_to_dask() -> None:
    assert why_unreachable("inproc://10.0.0.1/1/2", 20) == ""
    assert why_unreachable("ucx://10.0.0.1:8786", 20) == ""


@pytest.mark.parametrize(
    ("content", "why"), [("{", "no file of a scheduler"), ("[]", "states no address"), ('{"address": 7}', "states no")]
)
def test_a_file_that_names_no_scheduler(tmp_path: Path, content: str, why: str) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(content)
    with pytest.raises(UnreadableTraceError) as raised:
        list(ClusterEngine(scheduler_file=file).outcomes(["a"], Options(), lambda *_: None))
    assert why in str(raised.value.why)


def test_the_address_in_a_file_is_tried_as_well(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": f"tcp://127.0.0.1:{closed_port()}"}))
    with pytest.raises(UnreadableTraceError) as raised:
        list(ClusterEngine(scheduler_file=file).outcomes(["a"], Options(), lambda *_: None))
    assert "nothing listens" in str(raised.value.why)
