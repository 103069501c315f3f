"""`advisor collect` says where a loop ended before as many steps were recorded as were to be."""

from pathlib import Path

import pytest

from analyzer.cli.main import main
from traces.collect.script import session
from traces.collect.script.config import Recording, ScriptResult, Verdict

SAID = "the loop ended when 3 of 5 steps were recorded"


@pytest.mark.parametrize(
    ("options", "steps", "full", "said", "skips"),
    [
        ((), 3, False, True, "--wait 2 --warmup 1"),
        (("--wait", "2"), 3, False, True, "(--warmup 1)"),
        # Nothing can be skipped fewer of: only a longer run helps.
        (("--wait", "2", "--warmup", "1"), 3, False, True, ""),
        ((), 5, True, False, ""),
        # No step is marked, and there is none to count.
        ((), 0, False, False, ""),
    ],
)  # fmt: skip
def test_a_recording_that_was_cut_short_says_so(
    options: tuple[str, ...], steps: int, full: bool, said: bool, skips: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    found = Recording(Path("trace.json"), 100, steps, 40_000, "optimizer", None, None, Verdict(usable=True), full)
    monkeypatch.setattr(session, "collect_script", lambda *_: ScriptResult(recordings=[found]))
    main(["collect", "--active", "5", *options, "train.py"])
    told = capsys.readouterr().err
    assert (SAID in told) is said
    assert ("skip fewer" in told) is bool(skips)
    assert skips in told
