"""What other programs take is measured of the recorded steps, all of them and no others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from traces.collect.recorder.window import UNPROFILED_STEPS
from traces.collect.trace_advisor_hook.phases.phases import SETTLE_STEPS
from traces.collect.zoo import session
from traces.collect.zoo.preset import Preset


class _Loop:
    """An endless loop, and how many of its steps are over."""

    def __init__(self) -> None:
        self.steps = 0

    def __call__(self, device: object) -> Iterator[None]:
        while True:
            yield
            self.steps += 1


@pytest.mark.parametrize(("wait", "recorded"), [(6, range(9, 21)), (0, range(12))])
def test_the_recorded_steps_are_those_that_are_watched(
    wait: int, recorded: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, asked, taken = _Loop(), {}, []

    class Wait:
        def __init__(self) -> None:
            self.begun = len(taken)

        def ratio(self) -> float:
            # The step in hand is over, and not told yet.
            asked["watched"] = range(self.begun, len(taken) + 1)
            return 0.25

    @contextmanager
    def record(path: Path, **options: Any) -> Iterator[Any]:
        asked["options"] = options
        yield type("Recorder", (), {"step": lambda self: taken.append(loop.steps)})()

    monkeypatch.setattr(session, "CoreWait", Wait)
    monkeypatch.setattr(session, "record", record)
    assert session._attempt(Preset(name="planted", loop=loop, wait=wait, active=12), tmp_path / "t.json") == 0.25
    assert asked["watched"] == recorded
    assert asked["options"]["wait"] + asked["options"]["warmup"] == recorded.start
    # Long enough for the recorder to time as many steps as it wants to.
    assert len(taken) == recorded.stop + SETTLE_STEPS + UNPROFILED_STEPS
