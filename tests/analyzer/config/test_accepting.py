"""Accepting a finding: what is written where, and that nothing else changes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from analyzer.config import accepting, load_config
from analyzer.explain import load_rules
from showing import analyses
from traces.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REASON = 'loaded "on purpose", \\ and [so] on\nfor ever \x7f'


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("advisor.toml", ""),
        ("advisor.toml", 'ignore = ["PG006"]'),
        ("pyproject.toml", '[project]\nname = "x"\n'),
        (
            "pyproject.toml",
            '[project]\r\nname = "x"\r\n\r\n[[tool.advisor.accept]]\r\nid = "SY001-1"\r\nreason = "r"\r\n',
        ),
    ],
)
def test_the_configuration_holds_it_and_all_it_held(tmp_path: Path, name: str, before: str) -> None:
    path = tmp_path / name
    if before:
        path.write_bytes(before.encode())
    accepting.accept("DL001-6d1f", REASON, path)
    after = path.read_bytes().decode()
    assert after.startswith(before)
    assert after.count("\n") == after.count("\r\n") or "\r" not in before
    last = load_config(path, load_rules()).accepted[-1]
    assert (last.id, last.reason) == ("DL001-6d1f", " ".join(REASON.split()))
    assert accepting.lines("DL001-6d1f", REASON, path).replace("\n", "\r\n" if "\r" in before else "\n") in after


@pytest.mark.parametrize(
    ("before", "reason", "says"),
    [
        ("", "  ", "for a reason"),
        ("accept = [{id = 'DL001-6d1f', reason = 'r'}]", "why", "accepted already"),
        ("accept = [{id = 'SY001-1', reason = 'r'}]", "why", "at the end"),
        ("[[accept", "why", "at the end"),
        ("\udcff", "why", "cannot be changed"),
    ],
)
def test_what_cannot_be_written_leaves_the_file_as_it_is(tmp_path: Path, before: str, reason: str, says: str) -> None:
    path = tmp_path / "advisor.toml"
    path.write_bytes(before.encode(errors="surrogateescape"))
    with pytest.raises(UsageError, match=says):
        accepting.accept("DL001-6d1f", reason, path)
    assert path.read_bytes() == before.encode(errors="surrogateescape")


def test_a_link_stays_one(tmp_path: Path) -> None:
    real, link = tmp_path / "real.toml", tmp_path / "advisor.toml"
    real.write_text("")
    link.symlink_to(real)
    accepting.accept("DL001-6d1f", "why", link)
    assert link.is_symlink()
    assert "DL001-6d1f" in real.read_text()


def test_the_place_is_the_configuration_in_use_then_the_project_then_a_file_of_its_own(tmp_path: Path) -> None:
    assert accepting.place(tmp_path) == tmp_path / "advisor.toml"
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    assert accepting.place(tmp_path) == tmp_path / "pyproject.toml"
    (tmp_path / "advisor.toml").write_text("")
    assert accepting.place(tmp_path) == tmp_path / "advisor.toml"
    assert accepting.place(tmp_path, tmp_path / "other.toml") == tmp_path / "other.toml"


def test_what_was_accepted_stays_so_in_a_later_document() -> None:
    base = analyses.example()
    first = base.findings[0]
    accepted = accepting.with_accepted(base, first.id, "why")
    assert [one.accepted for one in accepted.findings] == ["why", *[None] * (len(base.findings) - 1)]
    assert accepting.carried_over(accepted, base) == accepted


def test_no_id_becomes_a_line_of_its_own(tmp_path: Path) -> None:
    evil = 'x"\nignore = ["ALL"]\n#'
    assert accepting.lines(evil, "why", tmp_path / "advisor.toml").count("\n") == 3
    accepting.accept(evil, "why", tmp_path / "advisor.toml")
    assert tomllib.loads((tmp_path / "advisor.toml").read_text()) == {"accept": [{"id": evil, "reason": "why"}]}
