"""The `advisor` of the shell: can be interrupted from its first moment on, while it still imports itself."""

from __future__ import annotations

import os


def program() -> None:
    """`analyzer.cli.main.program`; an interrupt that comes before it looks out for one ends the process in the same way."""
    try:
        from analyzer.cli.main import program as run

        run()
    except KeyboardInterrupt:
        os.write(2, b"\nadvisor: interrupted\n")
        # What is half imported has nothing to clean up, and might complain.
        os._exit(130)
