"""From a finding to its proof: where to change what, what records again, what compares; with keys for each."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from analyzer.analysis import FindingDocument
from analyzer.page.findings.proof import Proof
from analyzer.tui.draw.code import code_block
from analyzer.tui.draw.finding import fix_lines, heading, prose
from analyzer.tui.draw.wrapped import wrapped
from analyzer.tui.outside import clipboard
from analyzer.tui.screens.text_page import TextPage
from analyzer.tui.work.messages import EditWanted

WIDEST = 96


class ProvePage(TextPage):
    """The steps, in their order.

    Args:
        finding: What to change.
        proof: How to prove that it helped.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("E", "edit", "Edit", id="prove.edit", tooltip="Open the place in $EDITOR"),
        Binding("c", "copy_fix", "Copy change", id="prove.copy_fix", tooltip="Copy the change to make"),
        Binding(
            "r", "copy_record", "Copy recording", id="prove.copy_record", tooltip="Copy the command that records again"
        ),
        Binding(
            "o", "copy_compare", "Copy comparison", id="prove.copy_compare", tooltip="Copy the command that compares"
        ),
    ]

    def __init__(self, finding: FindingDocument, proof: Proof) -> None:
        super().__init__(Content(f"{finding.rule}: apply and prove"), WIDEST, "-roomy")
        self._finding = finding
        self._proof = proof

    def text(self, width: int) -> Content:
        """Change, record, compare."""
        proof = self._proof
        lines = [self._step(1, "Change", "E opens it" if proof.place else "", "c copies it")]
        lines += [Content.styled(proof.place, "underline $body")] if proof.place else []
        lines += [*fix_lines(self._finding.fix[0], width, self.shift), Content("")] if self._finding.fix else []
        lines.append(self._step(2, "Record again", "r copies it" if proof.record else ""))
        lines += code_block(proof.record, "shell", width, self.shift) if proof.record else []
        lines += [*wrapped(prose(proof.record_note, "$quiet"), width), Content("")]
        lines.append(self._step(3, "Compare", "o copies it"))
        lines += code_block(proof.compare, "shell", width, self.shift)
        lines += wrapped(prose(proof.expected, "$quiet"), width)
        lines += [*wrapped(prose(self._finding.verify), width), Content("")]
        return Content("\n").join(lines)

    @staticmethod
    def _step(number: int, title: str, *keys: str) -> Content:
        named = [key for key in keys if key]
        return heading(f"{number}. {title}") + Content.styled(f"   {', '.join(named)}" if named else "", "$quiet")

    def action_edit(self) -> None:
        """Open the place in the editor."""
        self.post_message(EditWanted(self._finding))

    def action_copy_fix(self) -> None:
        """Copy the change."""
        self._copy(clipboard.fix_text(self._finding), "change")

    def action_copy_record(self) -> None:
        """Copy the command that records again, if there is one."""
        if self._proof.record:
            self._copy(self._proof.record, "command that records again")

    def action_copy_compare(self) -> None:
        """Copy the command that compares."""
        self._copy(self._proof.compare, "command that compares")

    def _copy(self, text: str, what: str) -> None:
        self.app.copy_to_clipboard(text)
        self.notify(text.splitlines()[0] if text else "", title=f"Copied the {what}", markup=False)
