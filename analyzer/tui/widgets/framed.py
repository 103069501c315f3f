"""A frame whose title is of its colour while what is in it has the focus."""

from __future__ import annotations

from textual.color import Color
from textual.style import Style
from textual.widget import Widget


class Framed(Widget):
    """For a pane with widgets in it.

    A rule of the styles for the colour of the title would paint each of those anew whenever the focus comes or goes.
    Of several bases it is the last: Textual takes styles from the first.
    """

    def _get_title_style_information(self, background: Color) -> tuple[Color, Color, Style]:
        return self._in_frame(*super()._get_title_style_information(background))

    def _get_subtitle_style_information(self, background: Color) -> tuple[Color, Color, Style]:
        return self._in_frame(*super()._get_subtitle_style_information(background))

    def _in_frame(self, color: Color, background: Color, style: Style) -> tuple[Color, Color, Style]:
        return (self.styles.border_top[1] if self.has_focus_within else color), background, style
