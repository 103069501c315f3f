"""Fixes that the program can follow: each is held against the versions in the trace, and says what it needs where they are unknown.

A fix that needs a newer version than the program's gives way to the others; where it is the only one, it says what to upgrade.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from analyzer.engine.api_versions import APIS, COMPILES_ON_PYTHON, OF_FRAMEWORKS
from analyzer.facts.recording.frameworks import Frameworks
from analyzer.facts.recording.versions import Version, Versions
from analyzer.finding import Advice, Finding


class Need(msgspec.Struct, frozen=True):
    """A package, and the first of its versions that will do."""

    package: str
    since: Version

    def __str__(self) -> str:
        """`torch 2.4`."""
        return f"{self.package} {self.since[0]}.{self.since[1]}"


def fitted(finding: Finding, versions: Versions, frameworks: Frameworks, *, on_device: bool) -> Finding:
    """The finding with the fixes that its program can follow, each with the versions it needs where they are not known.

    Args:
        finding: As its rule gave it.
        versions: What the program ran with.
        frameworks: What it is made of; fixes in the words of a framework that it does not use give way, too.
        on_device: Whether the program computes on a device: what runs there, and on the CPU, came with different versions.
    """
    its_own = [advice for advice in finding.fix if _of_program(advice, frameworks)] or list(finding.fix)
    needed = [needs(advice, versions, on_device=on_device) for advice in its_own]
    lacking = [tuple(need for need in found if versions.has(need.package, need.since) is False) for found in needed]
    if all(lacking):
        fix = tuple(_upgrade(advice, lacks, versions) for advice, lacks in zip(its_own, lacking, strict=True))
    else:
        fix = tuple(
            _with_unknown(advice, found, versions)
            for advice, found, lacks in zip(its_own, needed, lacking, strict=True)
            if not lacks
        )
    return finding if fix == finding.fix else msgspec.structs.replace(finding, fix=fix)


def _of_program(advice: Advice, frameworks: Frameworks) -> bool:
    code = _made(advice)
    return all(frameworks.may_use(*names) for pattern, names in OF_FRAMEWORKS if pattern.search(code))


def needs(advice: Advice, versions: Versions, *, on_device: bool) -> tuple[Need, ...]:
    """What the code of a fix needs, one version a package: what it takes away from the program needs none."""
    code = _made(advice)
    found: dict[str, Version] = {}
    # Most advice is in words.
    for need in _all(code, versions, on_device) if code else ():
        found[need.package] = max(found.get(need.package, need.since), need.since)
    return tuple(Need(package, since) for package, since in found.items())


def _all(code: str, versions: Versions, on_device: bool) -> Iterator[Need]:
    here = {None, "device" if on_device else "cpu", "cuda" if on_device and versions.on_cuda else None}
    here |= {"rocm"} if on_device and versions.on_rocm else set()
    for api in APIS:
        if api.where in here and api.pattern.search(code):
            yield Need(api.package, api.since)
    python = versions.known.get("python")
    if python is not None and "torch.compile(" in code:
        for since, torch in COMPILES_ON_PYTHON:
            if python >= since:
                yield Need("torch", torch)


def _made(advice: Advice) -> str:
    """The code that a fix leaves in the program: without a diff's lines that go, and without comments."""
    if advice.language == "text":
        return ""
    lines = advice.code.splitlines()
    if advice.language == "diff":
        lines = [line for line in lines if not line.startswith("-")]
    # How a fix is called elsewhere stands in comments of their own.
    lines = [line for line in lines if not line.lstrip("+ ").startswith("#")]
    return "\n".join(line.partition("  #")[0] for line in lines)


def _with_unknown(advice: Advice, needed: tuple[Need, ...], versions: Versions) -> Advice:
    """The fix with what it needs in its note, as far as the trace does not show that the program has it."""
    unknown = [
        str(need) for need in needed if versions.has(need.package, need.since) is None and str(need) not in advice.note
    ]
    return _noted(advice, f"Needs {' and '.join(unknown)} or newer.") if unknown else advice


def _upgrade(advice: Advice, lacks: tuple[Need, ...], versions: Versions) -> Advice:
    """The fix, and from which version to which."""
    wanted = " and ".join(str(need) for need in lacks)
    here = [
        f"{need.package} {'.'.join(map(str, versions.known[need.package]))}"
        for need in lacks
        if need.package in versions.known
    ]
    ran = " and ".join(here) if here else "an older one"
    return _noted(advice, f"Needs {wanted} or newer; this program ran with {ran}: upgrade first.")


def _noted(advice: Advice, sentence: str) -> Advice:
    return msgspec.structs.replace(advice, note=f"{advice.note} {sentence}".strip())
