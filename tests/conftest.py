"""What every test starts from."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from nearby import beside, changed_since
from sampling import looked_at, within

# A shell that starts the tests in the background has them ignore interrupts, and so every process they start: none could be
# interrupted to see what it does.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# By Python's own limits, a look at every 700 new objects, an eighth of what tests of screens took went into looking, and a fifth
# of collecting all tests.
gc.set_threshold(20_000, 20, 20)

_RECORD_BY_THE_MINUTE = ("zoo", "signals", "frameworks", "scripts")


def pytest_xdist_auto_num_workers(config: Any) -> int | None:
    """All cores for the whole suite; one process, which is there seconds earlier, for what is named, and for what is timed.

    Returns:
        None for as many as there are cores, 0 for no other process.
    """
    return 0 if _chosen(config) else None


def pytest_collection_finish() -> None:
    """Seven thousand tests and what they import stay to the end: no collection of garbage need walk over them."""
    gc.collect()
    gc.freeze()
    # The reference loop collects, freezes and thaws, and these with it: each recording behind the first walked over all of them,
    # two seconds for a tenth. `test_own_heap.py` sees the loop do it, in a process of its own.
    # What the command line sets aside for a process that is about to end would stay here, each trace behind the other.
    gc.freeze = gc.unfreeze = lambda: None


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--all-cases`, its contrary, and `--changed-since`, as `.ci/run` asks for."""
    parser.addoption("--all-cases", action="store_true", help="every case of every test, and those that take seconds")
    parser.addoption("--some-cases", action="store_true", help="a part of the cases also where tests are named")
    parser.addoption(
        "--changed-since",
        metavar="COMMIT",
        help="every case of the tests beside what changed since, a part of the others; of marked tests none of the others",
    )


@pytest.hookimpl(trylast=True)  # behind the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Some of the cases where nothing is named; and more time for those that record by the minute, than pyproject.toml gives.

    Raises:
        UsageError: Git does not know the commit.
    """
    kept = _kept(config, items)
    left = set(map(id, kept))
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in left])
    items[:] = kept
    for item in items:
        if any(item.get_closest_marker(name) for name in _RECORD_BY_THE_MINUTE):
            item.add_marker(pytest.mark.timeout(3_600))


def _kept(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    some = config.option.some_cases or not (config.option.all_cases or _chosen(config))
    if config.option.changed_since is None:
        return list(looked_at(items)) if some else items
    try:
        closer = frozenset(beside(changed_since(config.option.changed_since, config.rootpath), config.rootpath))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error
    return list(looked_at(items, closer)) if some else [item for item in items if within(item, closer)]


def _chosen(config: Any) -> bool:
    """Whether files, marks or words are named."""
    named = [str(argument) for argument in config.args] != config.getini("testpaths")
    return bool(named or config.option.keyword or config.option.markexpr != _default_marks(config))


def _default_marks(config: Any) -> str:
    addopts = config.getini("addopts")
    return str(addopts[addopts.index("-m") + 1])


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names a test by the argument where that is bytes: packed ones hold the time, and each process would call it otherwise.

    Returns:
        None for pytest's own name.
    """
    return argname if isinstance(val, bytes | bytearray) else None


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    """Threads of small models wait for each other with their cores kept, and other processes run tests on those."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
