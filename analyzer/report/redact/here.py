"""Where and who we are, so that reports do not tell: the only part of redaction that looks at the machine."""

from __future__ import annotations

import os
import socket

from analyzer.report.redact.paths import Project


def project() -> Project:
    """Where we are, and who and what machine we are."""
    here = os.getcwd()
    home = os.path.expanduser("~")
    names = {os.environ.get("USER"), os.environ.get("LOGNAME"), os.environ.get("USERNAME"), os.path.basename(home)}
    host = socket.gethostname()
    roots = (here,) if here not in ("/", home) else ()
    return Project(roots=roots, names=tuple(sorted(filter(None, {*names, host, host.partition(".")[0]}))))
