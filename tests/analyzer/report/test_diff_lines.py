"""Of a patch the names of its files are neither lines that come nor lines that go."""

from analyzer.report.html.findings import lines_of


def kinds(*code: str, language: str = "diff") -> list[str]:
    return [line.kind for line in lines_of(code, language)]


def test_names_of_files_are_no_change() -> None:
    assert kinds("--- a/train.py", "+++ b/train.py", "@@ -1 +1 @@", "-a", "+b") == [
        "same",
        "same",
        "same",
        "del",
        "add",
    ]


def test_lines_that_only_look_like_them_are() -> None:
    assert kinds("--- x", "-y") == ["del", "del"]
    assert kinds("-a", "+++ b") == ["del", "add"]
    assert kinds("-a", "+b", language="python") == ["same", "same"]
