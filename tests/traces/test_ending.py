"""A signal that asks to end: raised where it comes, except where that would be lost, and left ignored where it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from running.recorded import ROOT
from running.signals import heard
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
    # Python warns of the program's own fork from 3.12 on.
    ignored = "ignore:This process:DeprecationWarning"
    run = [sys.executable, "-W", ignored, "-c", text]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False, preexec_fn=heard)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


_SAID = {"SIGTERM": "ended by SIGTERM", "SIGHUP": "ended by SIGHUP", "SIGINT": "interrupted"}


@pytest.mark.parametrize("name", _SAID)
def test_it_is_raised_where_it_comes(name: str) -> None:
    code, said, complained = _run(f"os.kill(os.getpid(), signal.{name})")
    assert (code, said, complained) == (128 + getattr(signal, name), f"raised {_SAID[name]}", "")


def test_one_that_comes_in_a_finalizer_is_not_lost() -> None:
    finalizer = "class Last:\n    def __del__(self):\n        os.kill(os.getpid(), signal.SIGTERM); time.sleep(0.01)"
    code, said, complained = _run("Last()", first=finalizer)
    assert (code, said, complained) == (143, "raised ended by SIGTERM", "")


_RAISED = "os.kill(os.getpid(), signal.SIGTERM); time.sleep(0.001)"
# What Python or a library drops, in the words of a program that goes on afterwards.
_LOSING = {
    "before a fork": (
        f"def ask():\n    {_RAISED}\nos.register_at_fork(before=ask)",
        "if os.fork() == 0: os._exit(0)",
    ),
    "a callback of the collector": (
        f"import gc\ndef ask(phase, _):\n    if phase == 'stop':\n        gc.callbacks.clear(); {_RAISED}",
        "gc.callbacks.append(ask); gc.collect()",
    ),
    "a reference's end": (
        f"import weakref\nclass It: pass\ndef ask(_):\n    {_RAISED}\nit = It(); reference = weakref.ref(it, ask)",
        "del it",
    ),
    "all that is raised is caught": (
        f"def ask():\n    try:\n        {_RAISED}\n    except BaseException:\n        pass",
        "ask(); ask()",
    ),
    "a block that returns from its end": (
        f"def ask():\n    try:\n        {_RAISED}\n    finally:\n        return",
        "ask()",
    ),
}


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("losing", _LOSING)
def test_one_that_is_dropped_is_raised_again(losing: str, name: str) -> None:
    first, then = (text.replace("SIGTERM", name) for text in _LOSING[losing])
    code, said, complained = _run(then, first=first)
    assert (code, said, complained) == (128 + getattr(signal, name), f"raised {_SAID[name]}", "")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_one_that_comes_while_torch_is_imported_is_raised_behind_that(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "torch"
    folder.mkdir()
    (folder / "__init__.py").write_text("import torch.inner\nprint('torch is whole')\n")
    # C++ between these two lines would end the process.
    (folder / "inner.py").write_text(f"import os, signal, time\nos.kill(os.getpid(), signal.{name})\ntime.sleep(0.2)\n")
    code, said, complained = _run(f"sys.path.insert(0, {str(tmp_path)!r}); import torch")
    assert (code, said, complained) == (128 + getattr(signal, name), f"torch is whole\nraised {_SAID[name]}", "")


def test_what_calls_torch_is_interrupted_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("import os, signal, time\ndef train():\n    os.kill(os.getpid(), signal.SIGTERM)\n"
                                       "    time.sleep(0.2)\n    print('went on')\n")  # fmt: skip
    code, said, _ = _run(f"sys.path.insert(0, {str(tmp_path)!r}); import torch; torch.train()")
    assert (code, said) == (143, "raised ended by SIGTERM")


def test_one_that_is_held_for_good_ends_the_process_with_its_files_and_children() -> None:
    first = f"""
import multiprocessing, pathlib
from traces import ending, leftovers
ending._GRACE_S = 0.5
held = []
def ask():
    try:
        {_RAISED}
    except KeyboardInterrupt as error:
        held.append(error)
"""
    then = (
        "child = multiprocessing.get_context('fork').Process(target=time.sleep, args=(60,)); child.start(); "
        "scratch = leftovers.scratch_folder(); folder = scratch.__enter__(); print(folder, child.pid, flush=True); ask()"
    )
    code, said, complained = _run(then, first=first)
    folder, child = said.split()
    assert (code, complained) == (143, "advisor: ended by SIGTERM, 0 s after it came")
    assert not Path(folder).exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int(child), 0)


def test_cleaning_up_is_not_interrupted_by_a_second_one() -> None:
    then = (
        "\n    try: os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)\n"
        "    finally: os.kill(os.getpid(), signal.SIGHUP); time.sleep(0.2); print('cleaned')"
    )
    code, said, _ = _run(then)
    assert (code, said) == (143, "cleaned\nraised ended by SIGTERM")


def test_a_second_interrupt_from_the_keyboard_ends_at_once_and_takes_away_what_outlives_a_process() -> None:
    then = (
        "\n    from traces import leftovers\n    with leftovers.scratch_folder() as folder:\n        print(folder, flush=True)\n"
        "        try: os.kill(os.getpid(), signal.SIGINT); time.sleep(9)\n"
        "        finally: os.kill(os.getpid(), signal.SIGINT); time.sleep(9); print('waited')"
    )
    code, said, complained = _run(then)
    assert (code, complained) == (130, "")
    assert not Path(said).exists()


def test_an_interrupt_that_is_ignored_stays_ignored() -> None:
    # As a shell starts what it puts into the background.
    then = "os.kill(os.getpid(), signal.SIGINT); print('goes on'); sys.exit(0)"
    assert _run(then, first="signal.signal(signal.SIGINT, signal.SIG_IGN)")[:2] == (0, "goes on")


def test_a_copy_made_by_fork_is_interrupted_as_it_would_have_been() -> None:
    then = (
        "child = os.fork()\n    if not child:\n        try: os.kill(os.getpid(), signal.SIGINT); time.sleep(9)\n"
        "        except KeyboardInterrupt as error: os._exit(7 if type(error) is KeyboardInterrupt else 8)\n"
        "    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])); sys.exit(0)"
    )
    assert _run(then) == (0, "7", "")


def test_one_that_comes_while_the_program_leaves_ends_it_without_a_word() -> None:
    # Python 3.10 looks for signals only where Python code runs: one that comes behind the last line of it changes nothing.
    first = f"import atexit\nfrom traces.ending import surfaced\n@atexit.register\ndef last():\n    {_RAISED}"
    assert _run("surfaced(); sys.exit(0)", first=first) == (143, "", "")


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
