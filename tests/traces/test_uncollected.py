"""What stays to the end is not gone over for garbage: neither while it is made nor behind that."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import gc
from traces.uncollected import uncollected

{before}
looks = []
gc.callbacks.append(lambda phase, about: looks.append(phase))
with uncollected():
    made = [[] for _ in range(100_000)]
assert not looks and gc.isenabled() is {enabled}
assert gc.get_freeze_count() > len(made)
gc.enable()
more = [[] for _ in range(10_000)]
assert looks and not any(one is made[0] for one in gc.get_objects())
"""


def _run(before: str, *, enabled: bool) -> None:
    subprocess.run([sys.executable, "-c", _PROGRAM.format(before=before, enabled=enabled)], check=True, timeout=60)


def test_what_is_made_inside_is_never_gone_over() -> None:
    _run("", enabled=True)


def test_who_had_it_off_has_it_off_behind_it() -> None:
    _run("gc.disable()", enabled=False)


def test_importing_numpy_and_pandas_is_not_gone_over_for_garbage() -> None:
    program = """
import gc
from traces.arrowless_pandas import import_pandas
from traces.threadless_numpy import import_numpy

looks = []
gc.callbacks.append(lambda phase, about: looks.append(phase))
import_numpy()
import_pandas()
assert not looks and gc.isenabled(), len(looks)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
