"""Whether a scheduler can be reached at all, and if not why, within a time that is stated.

Dask tries again until its own time is over, and then takes as long again to give up: a refusal takes a minute on a busy machine,
and ends in the name of an exception.
"""

from __future__ import annotations

import socket
import threading
from urllib.parse import urlsplit

# Whoever listens without encryption is told first who it is talking to (distributed.comm.core, BaseTCPListener.on_connection).
_SPEAKS_FIRST = "tcp"
_OVER_TCP = (_SPEAKS_FIRST, "tls")


def why_unreachable(address: str, patience_s: float) -> str:
    """Why nobody can be reached there, in words; empty where somebody answers, or by a way that this cannot try.

    Args:
        address: As Dask writes it, `tcp://host:8786`; `host:8786` is the same.
        patience_s: How long all of it may take.
    """
    try:
        parts = urlsplit(address if "://" in address else f"{_SPEAKS_FIRST}://{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is not None and parts.scheme not in _OVER_TCP:
        return ""
    if not host or not port:
        return "its address is not HOST:PORT, as `dask scheduler` prints it"
    attempt = _Attempt(host, port, patience_s, listens=parts.scheme == _SPEAKS_FIRST)
    # Nothing ends the search for a name: it is left to itself.
    thread = threading.Thread(target=attempt.run, daemon=True)
    thread.start()
    thread.join(patience_s)
    return attempt.why


class _Attempt:
    """One connection; `why` says at any time what it would have failed by."""

    def __init__(self, host: str, port: int, patience_s: float, *, listens: bool) -> None:
        self._there = (host, port)
        self._patience_s = patience_s
        self._listens = listens
        self.why = f"the name {host} was not resolved within {patience_s:.0f} s"

    def run(self) -> None:
        """Finds the host, connects, and waits for its first word."""
        host, port = self._there
        try:
            [*places] = dict.fromkeys(one[4][:2] for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            self.why = f"the name {host} is not known here ({error.strerror})"
            return
        self.why = (
            f"nothing answers at {host}, port {port}, within {self._patience_s:.0f} s: is there a firewall between?"
        )
        for place in places:
            try:
                with socket.create_connection((str(place[0]), int(place[1])), self._patience_s) as connection:
                    self._heard(connection)
                return
            except TimeoutError:
                continue
            except OSError as error:
                self.why = f"nothing listens at {host}, port {port} ({(error.strerror or str(error)).lower()})"

    def _heard(self, connection: socket.socket) -> None:
        if not self._listens:
            self.why = ""
            return
        host, port = self._there
        self.why = f"what listens at {host}, port {port}, does not speak as a scheduler does"
        if connection.recv(1):
            self.why = ""
