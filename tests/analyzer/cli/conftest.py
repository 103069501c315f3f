"""A stand-in for reading and analysing, so that the command line is tested on its own."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from analyzer.analysis import Analysis
from analyzer.explain import Options
from analyzer.explained import Explained
from analyzer.rule import Rule, RuleMeta, Threshold
from showing import analyses

DOC = """{code} {name}: what it is.

## Why it costs time
The GPU waits,
and waits.

```python
loader =  DataLoader(dataset)
```

- one
- two
"""


def rule(code: str, name: str, family: str = "data_loading") -> Rule:
    limits = (Threshold(name="share_ratio", value=0.1, unit="ratio", why="measured"),)
    meta = RuleMeta(code=code, name=name, family=family, title=name.replace("-", " "), thresholds=limits)
    return Rule(meta=meta, check=lambda facts, limits: iter(()), doc=DOC.format(code=code, name=name))


RULES = (rule("DL001", "loader-bound"), rule("DL002", "no-workers"), rule("SY001", "hidden-sync", "sync"))


@dataclass
class World:
    """What `analyse_with_facts` answers (an analysis or an error), and what it was asked."""

    answer: Analysis | BaseException = field(default_factory=analyses.example)
    asked: list[tuple[Path, object]] = field(default_factory=list)

    def analyse(self, path: Path, options: object, progress: object = None, decoder: object = None) -> Explained:
        self.asked.append((path, options))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return Explained(self.answer)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    stub = types.ModuleType("analyzer.explain")
    world = World()
    stub.Options = Options  # type: ignore[attr-defined]
    stub.analyse_with_facts = world.analyse  # type: ignore[attr-defined]
    stub.load_rules = lambda: RULES  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "analyzer.explain", stub)
    for name in ("NO_COLOR", "FORCE_COLOR", "ADVISOR_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    return world
