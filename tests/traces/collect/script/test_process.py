"""Ctrl-C is the script's affair, as long as it listens."""

import os
import signal
import sys
import time

import pytest

from traces.collect.script.process import left_to_the_script

_DEAF = "import signal, sys, time; {}; print('ready', flush=True); time.sleep(60)"


@pytest.mark.parametrize(
    ("ignores", "presses", "ended_by"),
    [
        ("signal.signal(signal.SIGINT, signal.SIG_IGN)", 3, signal.SIGTERM),
        ("[signal.signal(one, signal.SIG_IGN) for one in (signal.SIGINT, signal.SIGTERM)]", 4, signal.SIGKILL),
    ],
)
def test_a_script_that_ignores_ctrl_c_can_be_ended(
    ignores: str, presses: int, ended_by: int, capfd: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []
    with left_to_the_script(said.append) as begun:
        process = begun.begin([sys.executable, "-c", _DEAF.format(ignores)])
        try:
            while "ready" not in capfd.readouterr().out:
                time.sleep(0.01)
            for number in range(1, presses + 1):
                assert process.poll() is None
                os.kill(os.getpid(), signal.SIGINT)
                assert bool(said) == (number >= 2)
            assert process.wait(20) == -ended_by
        finally:
            process.kill()
            process.wait()
    assert len(said) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
