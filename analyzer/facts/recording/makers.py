"""Where the program makes its optimizers and its loader, as `advisor collect` saw it."""

from __future__ import annotations

from typing import Any

import msgspec

from analyzer.facts.recording.stated import list_of, text_of
from traces.trace import Meta


class Maker(msgspec.Struct, frozen=True):
    """One place that makes an optimizer or a loader.

    Args:
        class_name: Of what is made, `Adam`.
        package: The library whose function calls the class; None where the program itself does.
        function: That function, with its class; None likewise.
        file: File of the program's own line that leads there, relative to the project; None where none does.
        line: That line; None likewise.
        text: The statement that it belongs to, over one line or several; None where nobody read it.
        class_package: The package that defines the class, `torch`; `__main__` for the script's own; None where nobody recorded it.
        takes: Which of `foreach` and `fused` its constructor takes; None where nobody recorded it.
    """

    class_name: str
    package: str | None
    function: str | None
    file: str | None
    line: int | None
    text: str | None = None
    class_package: str | None = None
    takes: frozenset[str] | None = None

    @property
    def place(self) -> str:
        """`train.py:12`; empty where no line of the program's own leads there."""
        return "" if self.file is None else f"{self.file}:{self.line}"


def optimizer_makers(meta: Meta) -> tuple[Maker, ...]:
    """The places that make optimizers, in the order in which they were seen; empty for traces of other origin.

    Args:
        meta: What the file says of itself; nothing is believed about its shape.
    """
    return _makers(meta.advisor.get("optimizer_code"))


def loader_maker(meta: Meta) -> Maker | None:
    """The place that makes the loader in use; None for traces of other origin.

    Args:
        meta: As for `optimizer_makers`.
    """
    return next(iter(_makers(meta.advisor.get("loader_made"))), None)


def _makers(rows: Any) -> tuple[Maker, ...]:
    makers = (_maker(row) for row in list_of(rows) if isinstance(row, dict))
    return tuple(maker for maker in makers if maker is not None)


def _maker(row: dict[str, Any]) -> Maker | None:
    name = text_of(row.get("class"))
    package, function, file, text = (text_of(row.get(key)) for key in ("package", "function", "file", "text"))
    line = row.get("line")
    line = line if type(line) is int and line > 0 else None
    if name is None or (package is None) != (function is None) or (file is None) != (line is None):
        return None
    if package is None and file is None:
        return None
    takes = row.get("takes")
    return Maker(
        name, package, function, file, line, text,
        class_package=text_of(row.get("class_package")),
        takes=frozenset(map(str, takes)) if isinstance(takes, list) else None,
    )  # fmt: skip
