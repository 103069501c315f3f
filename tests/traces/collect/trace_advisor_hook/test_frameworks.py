"""The frameworks that a run is made of: from a list, by what is imported, what stands on the stack, and what makes batches."""

from __future__ import annotations

import sys
import types
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from traces.collect.trace_advisor_hook.software.frameworks import (
    describe_frameworks,
    running_arguments,
    running_modules,
)


def module(name: str, code: str, monkeypatch: pytest.MonkeyPatch, version: str | None = None) -> Any:
    made: Any = types.ModuleType(name)
    if version is not None:
        made.__version__ = version
    exec(code, made.__dict__)
    monkeypatch.setitem(sys.modules, name, made)
    return made


TRAIN = "def train(step): return step()"
DATA = "class Data: pass\nclass Loader:\n    dataset = Data()"


def test_what_stands_on_the_stack_runs_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = module("transformers.trainer", TRAIN, monkeypatch)
    module("transformers", "", monkeypatch, "4.57.1")
    found = trainer.train(lambda: describe_frameworks(None, ()))
    assert found["loop"] == ["transformers.trainer"]
    assert found["imported"]["transformers"] == "4.57.1"


def test_what_ran_the_loop_is_known_when_the_run_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short run ends while it is recorded: nothing of its loop is on the stack then."""
    trainer = module("fastai.learner", TRAIN, monkeypatch)
    began = trainer.train(running_modules)
    assert describe_frameworks(None, (), began)["loop"] == ["fastai.learner"]
    assert describe_frameworks(None, ())["loop"] == []


def test_what_is_only_imported_runs_no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    module("timm", "", monkeypatch, "1.0.9")
    found = describe_frameworks(None, ())
    assert (found["loop"], found["data"]) == ([], [])
    assert found["imported"]["timm"] == "1.0.9"


def test_what_makes_the_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    geometric = module("torch_geometric.loader.dataloader", DATA, monkeypatch)
    found = describe_frameworks(geometric.Loader(), ["torch_geometric.data.batch"])
    assert found["data"] == ["torch_geometric.loader", "torch_geometric.data"]


def test_a_loader_that_a_function_makes_is_told_by_what_begins_its_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `create_loader` of timm without its prefetcher: class, collate function, sampler and data set are others'."""
    made = module("timm.data.loader", "def begin(worker_id, seeding): pass", monkeypatch)
    loader = SimpleNamespace(worker_init_fn=partial(made.begin, seeding="all"))
    assert describe_frameworks(loader, ())["loader"] == ["timm.data"]
    assert describe_frameworks(SimpleNamespace(worker_init_fn=None), ())["loader"] == []


def test_names_of_the_users_own_stay_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = module("project_x.trainer", TRAIN + "\n" + DATA, monkeypatch, "0.1")
    found = secret.train(lambda: describe_frameworks(secret.Loader(), ["project_x.batch"]))
    assert "project_x" not in str(found)


def test_a_loader_of_torchs_is_torchs_whoever_makes_what_it_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    geometric = module("torch_geometric.loader.dataloader", DATA, monkeypatch)
    plain = module("torch.utils.data.dataloader_of_a_test", DATA, monkeypatch)
    assert describe_frameworks(geometric.Loader(), ())["loader"] == ["torch_geometric.loader"]
    found = describe_frameworks(plain.Loader(), ["torch_geometric.data.batch"])
    assert (found["data"], found["loader"]) == (["torch_geometric.data"], [])


TRAINER = "class Trainer:\n    def train(self, step): return step()"


def test_arguments_of_an_inherited_loop_are_told_by_their_class(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = module("transformers.trainer", TRAINER, monkeypatch)
    config = module("trl.trainer.sft_config", "class SFTConfig: pass", monkeypatch)
    runs = trainer.Trainer()
    runs.args = config.SFTConfig()
    assert runs.train(lambda: describe_frameworks(None, ()))["arguments"] == "SFTConfig"
    # A class of the user's own is told as what it is made of.
    runs.args = type("Secret", (config.SFTConfig,), {})()
    assert runs.train(running_arguments) == "SFTConfig"
    assert describe_frameworks(None, (), (), "SFTConfig")["arguments"] == "SFTConfig"


def test_no_trainer_no_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    assert describe_frameworks(None, ())["arguments"] is None
    other = module("project_x.trainer", TRAINER, monkeypatch)
    runs = other.Trainer()
    runs.args = {"token": "secret"}
    assert runs.train(running_arguments) is None
    bare = module("transformers.trainer", TRAINER, monkeypatch)
    assert bare.Trainer().train(running_arguments) is None
