"""`rules/README.md`, made of the rules' own pages.

`python -m analyzer.report.rule_pages` writes it; a test fails where it is stale. The catalogue comes by name, not by an
import: reports do not depend on rules.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path

from analyzer.rule import Rule, Threshold
from analyzer.units import count, duration, share, size
from traces.trace import Capability

FILE = "README.md"
_HEAD = """# Rules

<!-- Written by `python -m analyzer.report.rule_pages` from the docstrings of the rules; change those. -->

What `advisor` looks for: {rules} in {families}. Each rule measures time that is lost, states an upper bound or an estimate of what
its fix saves, and says so when it cannot tell. `advisor rules` lists them, `advisor rule CODE` shows a page of this file in the
terminal. Thresholds are the defaults; `[tool.advisor.rules.CODE]` in pyproject.toml changes them.

## Verdicts, bounds and doubt

- **Steps** are those the program marks; else ranges that repeat and cover the recording, or the outermost sequence of kernels that
  does. What covers it only in part (a layer) is no step: then the whole recording is one, and no finding is more than low.
  Optimizers that take turns, as those of a GAN, end one step together; tasks with a batch each do not.
  A pass of a model that only runs is one, as for a token; what a range of requests tells is called a request.
- **A verdict** names the largest loss of the waterfall, from a fifth of the step on. It needs a rule that measures the same loss
  and found it. A cause that only follows from where the host is meanwhile becomes "Unclear" without one, with the reason; one that
  the trace shows by itself, as a loader's call, keeps its name and says that nothing to change was found. Near the border between
  compute and communication it is "mixed", with both shares. Work that waits on an idle device is called after what it waits for:
  the nodes of a graph, an event, another device, or nothing that the trace shows. A compute-bound run is told what it computes.
- **A bound** ("at most") holds while the rest of the step stays as it was. Without a device the rest shares the cores and gets
  faster with them, so there every figure is an estimate ("up to about"), with the range of measured pairs where there are some.
  "Likely" is what usually comes true of a bound: of shorter kernels, the part in which the device is what the step waits for; of a
  wait for the device that goes, what the device idles in it. At most it is as much idle time as the host waited.
  What the host does beside a busy device loses nothing by itself, but makes it late: the bound of such work holds the idle time
  behind as well, as much as the work took and until the host waits for the device, and "likely" does not.
  Time that several findings claim counts once in the headline, and the headline is never less than its largest finding.
- **Communication** is told by a kernel's name, its arguments, the op that launched it and how many processes the job has. A kernel
  whose name speaks of an exchange and of arithmetic, and of which nothing else tells, counts as neither: a verdict that hangs on it
  is "Unclear".
- **Start-up** is what later steps do not repeat, judged call by call and step by step; what recurs is the program's habit.
- **Doubt** lowers a finding only where it touches it: a symptom that says which time it spoils matters to the findings that rest on
  that time. Why a severity was lowered stands beside it.
- **Cores.** For how long the training thread had no core `advisor collect` asks the system. Without a device a trace of
  `torch.profiler` alone shows it where short ops, several of them and in several steps, take milliseconds: what a larger input
  never makes of them. What is no more than that time is no finding; where it is half of the steps or more, nothing is high.
- **Waiting** for the device loses nothing while the device works: a copy or a read that blocks costs what the device idles for
  afterwards. What the host has to issue anew is the wait's; its own code behind a read is told as such, with what a step's delay
  would give; several ops that work on the host are named like one, and no graph is promised for them.
- **The order** of findings is that of what each usually saves, as a share of the step, times how sure it is (1, 0.7 or 0.4):
  9 % of high confidence stand before 12 % of medium. Severity is the share alone.
- **Advice** fits the program: what only runs its model hears nothing of gradients and losses, engines that serve models hear their
  own settings, and a change that needs a newer version than the trace states gives way, or says which version it needs. Where
  neither training nor serving shows, as in a forward pass alone, a fix that suits one of them says so, and the other's stands by.
  A loader is advised only where data may be prepared, not between a loss and its update; a tokenizer only where text shows; a job
  of one rank is not asked for others. Collectives are advised into a CUDA graph only where it is documented that they can be
  captured (NCCL from 2.9.6 on).

## The rules
"""


def catalogue() -> tuple[Path, tuple[Rule, ...]]:
    """The folder of the rules that come with this package, and these rules."""
    package = import_module("rules")
    return Path(inspect.getfile(package)).parent, tuple(package.RULES)


def render(rules: Sequence[Rule]) -> str:
    """The whole file.

    Args:
        rules: The catalogue, in any order.
    """
    by_family = sorted(rules, key=lambda rule: (rule.meta.family, rule.meta.code))
    families = [(name, list(group)) for name, group in groupby(by_family, key=lambda rule: rule.meta.family)]
    lines = [_HEAD.format(rules=count(len(rules), "rule"), families=count(len(families), "family", "families"))]
    for name, group in families:
        lines += [f"**{_words(name)}**", "", "| code | finds | needs |", "|---|---|---|"]
        lines += [_row(rule) for rule in group]
        lines.append("")
    for name, group in families:
        lines += [f"## {_words(name)}", ""]
        for rule in group:
            lines += [*_page(rule), ""]
    return "\n".join(lines).rstrip() + "\n"


def anchor(rule: Rule) -> str:
    """The name of a rule's heading in a link, as GitHub makes it."""
    return f"{rule.meta.code}-{rule.meta.name}".lower()


def _words(family: str) -> str:
    return "CPU" if family == "cpu" else family.replace("_", " ").capitalize()


def _row(rule: Rule) -> str:
    meta = rule.meta
    needs = ", ".join(
        [*_sorted_names(meta.needs), *(f"{name} beside a device" for name in _sorted_names(meta.clear_needs))]
    )
    return f"| [{meta.code}](#{anchor(rule)}) | {meta.title} | {needs} |"


def _sorted_names(capabilities: Iterable[Capability]) -> list[str]:
    return sorted(need.name.lower().replace("_", " ") for need in capabilities)


def _page(rule: Rule) -> Iterator[str]:
    head, *body = inspect.cleandoc(rule.page).split("\n")
    meta = rule.meta
    yield f"### {meta.code} {meta.name}"
    yield ""
    yield head.partition(": ")[2][:1].upper() + head.partition(": ")[2][1:]
    limits = {f"- `{limit.name}`:": limit for limit in meta.thresholds}
    in_code = False
    for line in body:
        in_code ^= line.startswith("```")
        if line.startswith("## ") and not in_code:
            yield f"##{line}"
            continue
        key = line[: line.find(":") + 1]
        yield line.replace(key, f"{key[:-1]}, {_value(limits[key])}:", 1) if key in limits and not in_code else line


def _value(limit: Threshold) -> str:
    if limit.unit == "ratio":
        return share(limit.value)
    if limit.unit == "ns":
        return duration(limit.value)
    return size(limit.value) if limit.unit == "bytes" else f"{limit.value:g}"


def main() -> None:
    """Writes the file beside the rules."""
    folder, rules = catalogue()
    (folder / FILE).write_text(render(rules), encoding="utf-8")


if __name__ == "__main__":
    main()
