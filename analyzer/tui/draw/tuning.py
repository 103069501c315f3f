"""A tuning while it goes on: the script as it is, a row for each change with its step times, what was said."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from analyzer.page import tuning as words
from analyzer.page.findings import savings
from analyzer.tui.draw import bars
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import line
from analyzer.tune.live import Live, Row
from analyzer.units import count, duration, share

_STYLES = {"helps": "$good", "worse": "$bad", "rejected": "$bad", "failed": "$bad"}
_MOST_NOTES = 4
_MOST_RUNS = 12
# Narrower than this no bar is drawn.
_WITH_BAR = 84
_NAME, _PROMISED, _STEP = 18, 16, 9


def times(seconds: float, budget_s: float) -> str:
    """`1:05 of 10 min`."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02} of {budget_s / 60:.3g} min"


def lines(live: Live, width: int, seconds: float, glyphs: Glyphs, *, stopping: bool) -> list[Content]:
    """The whole screen.

    Args:
        live: How far it is.
        width: Cells.
        seconds: Since it began.
        glyphs: How to draw.
        stopping: Whether somebody asked it to end.
    """
    told = [
        _ends(
            Content.styled(line(live.script, 200), "bold"),
            Content.styled(times(seconds, live.budget_s), "$quiet"),
            width,
        )
    ]
    told += [Content(""), _baseline(live, width, glyphs), Content("")]
    told.append(
        Content.styled(f"  {'change':<{_NAME}}{'promised':<{_PROMISED}}{'a step':>{_STEP}}  what came", "$quiet")
    )
    for row in live.rows:
        told += _row(row, live, width, glyphs)
    if not live.rows:
        told.append(Content.styled("  nothing is planned yet", "$quiet"))
    told.append(Content(""))
    told += [Content.styled(line(note, max(width, 20)), "$quiet") for note in live.notes[-_MOST_NOTES:]]
    if stopping:
        kept = "what was measured is kept" if live.baseline else "nothing was measured yet"
        told.append(Content.styled(f"Stopping: {kept}.", "bold $sev-medium"))
    return [one.truncate(max(width, 1), ellipsis=True) for one in told]


def _baseline(live: Live, width: int, glyphs: Glyphs) -> Content:
    if not live.baseline:
        return Content.styled("as it is: the first run times the script", "$quiet")
    noise = f"  noise {share(live.noise_ratio)}  {count(len(live.baseline), 'run')}  "
    shown = live.baseline[-max(width - 50, 8) :]
    mark = Content.styled(f"{glyphs.current} ", "bold $heading") if live.measuring else Content("  ")
    return Content.assemble(
        mark, ("as it is  ", ""), (f"{duration(live.step_ns)} a step", "bold"), (noise, "$quiet"),
        bars.columns(shown, ["$body"] * len(shown), glyphs),
    )  # fmt: skip


def _row(row: Row, live: Live, width: int, glyphs: Glyphs) -> Iterator[Content]:
    verdict = row.trial.verdict if row.trial is not None else ""
    mark, style = _mark(row, verdict, glyphs)
    name = row.trial.change if row.trial is not None else row.name
    promise, promised = row.promise, ""
    if promise is not None:
        promised = f"{savings.limit(promise.promised_kind)} {share(promise.promised_ratio)}"
    step = "" if row.step_ns is None else duration(row.step_ns)
    left = Content.assemble(
        (f"{mark} ", style), (f"{line(name, _NAME):<{_NAME}}", "bold" if row.running is not None else ""),
        (f"{promised:<{_PROMISED}}", "$quiet"), f"{step:>{_STEP}}  ",
    )  # fmt: skip
    room = (width - left.cell_length) // 3 if width >= _WITH_BAR else 0
    bar = bars.bar(min(row.step_ns or 0.0, live.step_ns), live.step_ns, room, style, glyphs) if room else Content("")
    gap = Content(" " * (room - bar.cell_length + 1)) if room else Content("")
    yield Content.assemble(left, bar, gap, _came(row, verdict, style))
    more = _more(row, glyphs)
    if more:
        yield Content.styled(f"    {more}", "$quiet")


def _mark(row: Row, verdict: str, glyphs: Glyphs) -> tuple[str, str]:
    if row.running is not None:
        return glyphs.current, "bold $heading"
    if verdict == "helps":
        return glyphs.passed, "$good"
    if not verdict:
        return " ", "$quiet"
    return glyphs.unknown, _STYLES.get(verdict, "$quiet")


def _came(row: Row, verdict: str, style: str) -> Content:
    """The gain and the verdict; what runs; that it waits."""
    if row.trial is not None:
        trial = row.trial
        if trial.measured_ratio is None:
            return Content.styled(verdict, style)
        between = words.interval(trial.low_ratio, trial.high_ratio)
        return Content.assemble((f"{words.gone(trial.measured_ratio)} less ({between})  ", ""), (verdict, style))
    if row.running is not None:
        return Content.styled(f"runs: {line(row.running or row.name, 40)}, turn {row.turn}", "$heading")
    return Content.styled("waits" if not row.runs else "between runs", "$quiet")


def _more(row: Row, glyphs: Glyphs) -> str:
    """Its runs, each with its value where there are several; why it came to nothing; of which step the promise is a share."""
    if row.trial is not None and row.trial.reason:
        return line(row.trial.reason, 200)
    several = len({value for value, _ in row.runs}) > 1
    shown = [
        (f"{value.partition('=')[2] or value} " if several else "") + ("no step" if step is None else duration(step))
        for value, step in row.runs[-_MOST_RUNS:]
    ]
    recorded = ["promised of the step as recorded"] if row.promise and row.promise.promised_of_recorded else []
    return f" {glyphs.dot} ".join(recorded + shown)


def _ends(left: Content, right: Content, width: int) -> Content:
    room = max(1, width - right.cell_length - 1)
    short = left.truncate(room, ellipsis=True)
    return Content.assemble(short, " " * max(0, width - right.cell_length - short.cell_length), right)
