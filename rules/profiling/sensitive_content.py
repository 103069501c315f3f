"""PG009 sensitive-content: the trace tells more than it should about who recorded it, and where.

## What it finds
Top-level fields that are on no allow-list (host and user names, environments), texts with the shape of access tokens, and paths
below somebody's home folder.

## Why it costs time
It costs none. But traces get attached to issues and chats: torch 2.13 writes the host's name into every trace, and a public test
trace was found to hold the whole environment of the machine that recorded it, with what looks like an access token.

## How it is measured
Names of top-level fields against an allow-list; every text of the top-level values and every distinct name and stack of events
against the shapes of known tokens and of home folders. Only counts and names of fields are reported, never a value.

## Example
Shares everything:

```python
prof.export_chrome_trace("trace.json")
```

Shares what is needed:

```python
prof.export_chrome_trace("trace.json")
trace = json.load(open("trace.json"))
kept = {field: trace[field] for field in ("schemaVersion", "deviceProperties", "traceEvents") if field in trace}
json.dump(kept, open("shared.json", "w"))
```

## Fix
1. Keep only known fields before handing a trace around; `advisor collect` writes no others.
2. A token that was in a trace you have shared is no longer secret: replace it.
3. Record without stacks where paths must not be seen.

## Expected gain
None in time.

## When it is wrong
A field that is not known to be harmless is listed although it may well be. Tokens of unknown shape are not found: no finding is
no proof.

## Thresholds
None to set: one is enough.

## References
- rules.md, section 0.8
- https://docs.pytorch.org/docs/stable/profiler.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.recording.privacy import Privacy
from analyzer.finding import Advice, Column, Finding, Outcome, Saving, Severity, Table, clear
from analyzer.rule import Limits, Rule, RuleMeta
from analyzer.units import count

META = RuleMeta(
    code="PG009",
    name="sensitive-content",
    family="profiling",
    title="Trace holds private content",
    references=("https://docs.pytorch.org/docs/stable/profiler.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires on anything that should be removed before the trace is handed around."""
    found = facts.recording.privacy
    if not found.found:
        yield clear("no field off the allow-list, no token by its shape, no home folder: look yourself before sharing")
        return
    yield Finding(
        why=f"Before handing this trace around: it holds {_what(found)}.",
        saving=Saving(basis="nothing to save: this is about sharing, not speed"),
        fix=_fix(found),
        verify="Run `advisor explain` on the file you are going to share: PG009 should be clear.",
        steps_seen=facts.steps.count,
        severity_cap=Severity.INFO,
        evidence=(
            Table("fields off the allow-list", (Column("field", "text"),), tuple((name,) for name in found.keys[:20])),
        )
        if found.keys
        else (),
    )


def _what(found: Privacy) -> str:
    parts = []
    if found.tokens:
        parts.append(count(found.tokens, "text that looks like a secret", "texts that look like secrets"))
    if found.keys:
        parts.append(
            count(
                len(found.keys),
                "top-level field that is not known to be harmless",
                "top-level fields not known to be harmless",
            )
        )
    if found.home_paths:
        parts.append(count(found.home_paths, "name or stack with a home folder", "names or stacks with a home folder"))
    return "; ".join(parts)


def _fix(found: Privacy) -> tuple[Advice, ...]:
    keep = Advice(
        "python",
        'trace = json.load(open("trace.json"))\n'
        'needed = ("schemaVersion", "deviceProperties", "distributedInfo", "traceEvents")\n'
        "kept = {field: trace[field] for field in needed if field in trace}\n"
        'json.dump(kept, open("shared.json", "w"))',
        "Analyses need these fields only.",
    )
    replace = Advice("text", "Replace the token: once shared, it is no longer a secret.")
    plain = Advice("text", "Record without stacks, or run the program from a folder outside the home folder.")
    return (
        *((replace,) if found.tokens else ()),
        *((keep,) if found.keys or found.tokens else ()),
        *((plain,) if found.home_paths else ()),
    )


RULE = Rule(META, check, __doc__)
