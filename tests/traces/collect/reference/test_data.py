"""Drawn digits: whole or absent, deterministic, kept apart from the real MNIST."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("PIL")

from traces.collect.reference import data
from traces.collect.reference.data import find_data
from traces.collect.reference.glyphs import draw_digits
from traces.collect.reference.idx import is_whole_idx, write_idx
from traces.errors import UsageError


def _quiet(done: int, total: int, label: str) -> None:
    """No progress bar."""


def test_the_same_seed_draws_the_same_digits() -> None:
    images, labels = draw_digits(50, seed=3)
    again, _ = draw_digits(50, seed=3)
    other, _ = draw_digits(50, seed=4)
    assert images.shape == (50, 28, 28)
    assert images.dtype == np.uint8
    assert set(labels) <= set(range(10))
    assert (images == again).all()
    assert (images != other).any()


def test_every_digit_is_visible_and_inside() -> None:
    images, _ = draw_digits(200, seed=1)
    assert (images.max(axis=(1, 2)) > 150).all()
    assert images[:, 0, :].mean() < 30  # the border is noise alone, but for a rare touch


def test_idx_round_trip(tmp_path: Path) -> None:
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    write_idx(tmp_path / "a", array)
    content = (tmp_path / "a").read_bytes()
    assert content[:16] == bytes((0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4))
    assert content[16:] == bytes(range(24))
    assert is_whole_idx(tmp_path / "a")


@pytest.mark.parametrize(
    "content", [b"", b"\0\0\x08", b"\0\0\x08\x01\0\0", b"\0\0\x08\x01\0\0\0\x05abc", b"PK\3\4....."]
)
def test_a_damaged_idx_file_is_not_whole(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    assert not is_whole_idx(tmp_path / "a")
    assert not is_whole_idx(tmp_path / "missing")


def test_torchvision_reads_drawn_digits_as_mnist(digits_dir: Path) -> None:
    pytest.importorskip("torch")
    datasets = pytest.importorskip("torchvision.datasets")
    source = find_data(digits_dir, _quiet)
    digits = datasets.MNIST(str(source.root), train=True, download=False)
    image, label = digits[0]
    assert (source.name, len(digits), image.size) == ("drawn digits", 1280, (28, 28))
    assert label in range(10)


def test_drawn_digits_do_not_pose_as_mnist(digits_dir: Path) -> None:
    assert not (digits_dir / "MNIST").exists()


def test_mnist_is_taken_where_it_is(digits_dir: Path) -> None:
    real = find_data(digits_dir, _quiet).root  # a folder laid out as torchvision lays out the real one
    source = find_data(real, _quiet)
    assert (source.root, source.name) == (real, "MNIST")


def test_digits_are_drawn_once_into_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "TRAIN_COUNT", 600)
    monkeypatch.setattr(data, "TEST_COUNT", 10)
    calls: list[tuple[int, int, str]] = []
    first = find_data(None, lambda *call: calls.append(call))
    assert calls[-1] == (610, 610, "drawing digits")
    calls.clear()
    assert find_data(None, lambda *call: calls.append(call)) == first
    assert calls == []
    assert first.root.is_relative_to(tmp_path / "cache")


def test_an_interrupted_drawing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "TRAIN_COUNT", 1000)

    def interrupt(done: int, total: int, label: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_data(tmp_path / "data", interrupt)
    assert [path for path in (tmp_path / "data").rglob("*") if path.is_file()] == []


def test_a_data_dir_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="not a folder"):
        find_data(tmp_path / "file", _quiet)


def test_a_data_dir_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot keep the drawn digits"):
        find_data(tmp_path / "file" / "below", _quiet)
