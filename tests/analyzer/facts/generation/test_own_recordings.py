"""Recordings of our own: a decoder with a cache that generates on the CPU, an encoder, and a step of training of the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from analyzer.facts import Facts
from analyzer.facts.generation.passes import Generation
from traces.reader.read import read

TEXTS, PROMPT, TOKENS, HEADS, WIDTH, WORDS = 3, 20, 6, 2, 8, 50


class Decoder(torch.nn.Module):
    """One layer of attention over a cache, between an embedding and a head; without a cache it encodes."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, HEADS * WIDTH)
        self.parts = torch.nn.Linear(HEADS * WIDTH, 3 * HEADS * WIDTH)
        self.head = torch.nn.Linear(HEADS * WIDTH, WORDS)

    def forward(self, ids: torch.Tensor, cache: list[torch.Tensor] | None = None) -> torch.Tensor:
        """Scores of the next word."""
        parts = self.parts(self.words(ids)).view(*ids.shape, 3, HEADS, WIDTH).permute(2, 0, 3, 1, 4)
        asks, keys, values = parts.unbind(0)
        if cache is not None:
            keys, values = (torch.cat([*cache[place : place + 1], part], 2) for place, part in ((0, keys), (1, values)))
            cache[:] = [keys, values]
        found = torch.nn.functional.scaled_dot_product_attention(asks, keys, values)
        scores: torch.Tensor = self.head(found.transpose(1, 2).flatten(2))
        return scores


def told(path: Path, run: object) -> Generation:
    """What is told of a program's recording."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recording:
        run()  # type: ignore[operator]
    recording.export_chrome_trace(str(path))
    return Facts(read(path)).generation.found


@pytest.fixture
def ids() -> torch.Tensor:
    """A prompt for each of three texts."""
    return torch.randint(0, WORDS, (TEXTS, PROMPT), generator=torch.Generator().manual_seed(0))


def test_a_loop_that_generates(tmp_path: Path, ids: torch.Tensor) -> None:
    model = Decoder()

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def run() -> None:
        cache: list[torch.Tensor] = []
        words = model(ids, cache)[:, -1:].argmax(-1)
        for _ in range(TOKENS):
            words = model(words, cache)[:, -1:].argmax(-1)

    found = told(tmp_path / "trace.json", run)
    assert found.passes["kind"].tolist() == ["prefill"] + ["decode"] * TOKENS
    assert (found.prefill_tokens, found.decode_tokens) == (TEXTS * PROMPT, TEXTS)


def test_an_encoder_that_classifies_generates_nothing(tmp_path: Path, ids: torch.Tensor) -> None:
    model = Decoder()

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def run() -> None:
        for _ in range(TOKENS):
            model(ids)[:, 0].argmax(-1)

    assert not told(tmp_path / "trace.json", run).known


def test_training_generates_nothing(tmp_path: Path, ids: torch.Tensor) -> None:
    model = Decoder()

    def run() -> None:
        for _ in range(TOKENS):
            scores = model(ids)
            torch.nn.functional.cross_entropy(scores.flatten(0, 1), ids.flatten()).backward()
            scores.argmax(-1)

    assert told(tmp_path / "trace.json", run).reason == "the trace shows training"
