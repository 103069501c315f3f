"""A signal that asks to end: raised where it comes, except where that would be lost, and left ignored where it was."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from recorded import ROOT
from traces.ending import Ended, code_of, interrupt_in

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
_BEGIN = """
import os, signal, sys, time
sys.path.insert(0, {root!r})
from traces.ending import Ended, code_of, end_in_order, received
{first}
end_in_order()
try:
    {then}
    time.sleep(20)
except KeyboardInterrupt as interrupt:
    print("raised", interrupt)
    sys.exit(code_of(interrupt))
"""


def _run(then: str, first: str = "") -> tuple[int, str, str]:
    text = _BEGIN.format(root=str(ROOT), first=first, then=then)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_it_is_raised_where_it_comes(name: str) -> None:
    code, said, complained = _run(f"os.kill(os.getpid(), signal.{name})")
    assert (code, said, complained) == (128 + getattr(signal, name), f"raised ended by {name}", "")


def test_one_that_comes_in_a_finalizer_is_not_lost() -> None:
    finalizer = "class Last:\n    def __del__(self):\n        os.kill(os.getpid(), signal.SIGTERM); time.sleep(0.01)"
    code, said, complained = _run("Last()", first=finalizer)
    assert (code, said, complained) == (143, "raised ended by SIGTERM", "")


def test_what_is_ignored_stays_ignored() -> None:
    then = "os.kill(os.getpid(), signal.SIGHUP); print('goes on'); sys.exit(0)"
    code, said, _ = _run(then, first="signal.signal(signal.SIGHUP, signal.SIG_IGN)")
    assert (code, said) == (0, "goes on")


def test_a_copy_made_by_fork_ends_as_it_would_have() -> None:
    then = (
        "child = os.fork(); child or (os.kill(os.getpid(), signal.SIGTERM), time.sleep(9)); "
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])); sys.exit(0)"
    )
    code, said, complained = _run(then)
    assert (code, said, complained) == (0, "-15", "")


def test_what_a_compiler_made_of_it_is_still_one() -> None:
    outer = RuntimeError("compilation failed")
    outer.__cause__ = Ended(signal.SIGHUP)
    assert code_of(interrupt_in(outer)) == 129
    assert interrupt_in(ValueError("no interrupt")) is None
    assert code_of(KeyboardInterrupt()) == 130
