"""A SARIF log has the shape of the standard: of the objects that are written here, their keys, types and values.

It is the part of https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json that these logs use, by
hand: that one allows more. A key that is not below is not written, or was looked up there before it was added.
"""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from msgspec.structs import replace

from analyzer.analysis import Analysis
from analyzer.ranks.merge import merge
from analyzer.report import sarif
from jobs.simulated import MS, Job
from showing import analyses

TEXT = {"type": "string", "minLength": 1}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
BAG = {"type": "object"}


def object_of(required: str = "", **properties: Any) -> dict[str, Any]:
    """An object with no other keys; `$schema` is written `schema`."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required.split(),
        "properties": {key.replace("schema", "$schema"): value for key, value in properties.items()},
    }


def list_of(item: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": item, **more}


MESSAGE = object_of("text", text=TEXT, markdown=TEXT)
RULE = object_of(
    "id",
    id=TEXT, name=TEXT, shortDescription=MESSAGE, fullDescription=MESSAGE, help=MESSAGE, helpUri={"pattern": "^https://"},
    defaultConfiguration=object_of(level=LEVEL),
    properties={"type": "object", "properties": {"tags": list_of(TEXT, uniqueItems=True)}},
)  # fmt: skip
PLACE = object_of(
    artifactLocation=object_of("uri uriBaseId", uri={"pattern": r"^[\w%./~-]+$"}, uriBaseId={"const": "SRCROOT"}),
    region=object_of("startLine", startLine={"type": "integer", "minimum": 1}),
)
LOCATION = object_of(physicalLocation=PLACE, logicalLocations=list_of(object_of(name=TEXT, kind={"const": "function"})))
RESULT = object_of(
    "message ruleId ruleIndex locations",
    ruleId=TEXT, ruleIndex={"type": "integer", "minimum": 0}, level=LEVEL, message=MESSAGE,
    locations=list_of(LOCATION, minItems=1), partialFingerprints={"additionalProperties": {"type": "string"}}, properties=BAG,
    suppressions=list_of(object_of(
        "kind", kind={"enum": ["inSource", "external"]}, status={"enum": ["accepted", "underReview"]}, justification=TEXT,
    )),
)  # fmt: skip
DRIVER = object_of("name", name=TEXT, fullName=TEXT, version=TEXT, rules=list_of(RULE, uniqueItems=True))
INVOCATION = object_of(
    "executionSuccessful",
    executionSuccessful={"type": "boolean"},
    toolExecutionNotifications=list_of(object_of("message", level=LEVEL, message=MESSAGE)),
)
RUN = object_of(
    "tool results",
    tool=object_of("driver", driver=DRIVER), columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    originalUriBaseIds={"additionalProperties": object_of(description=MESSAGE)}, invocations=list_of(INVOCATION),
    results=list_of(RESULT),
)  # fmt: skip
LOG = object_of(
    "version runs", schema={"pattern": "^https://"}, version={"const": "2.1.0"}, runs=list_of(RUN, minItems=1)
)


def mistakes(log: str) -> list[str]:
    found = jsonschema.Draft202012Validator(LOG).iter_errors(json.loads(log))
    return [f"{list(one.absolute_path)}: {one.message[:200]}" for one in found]


def accepted(base: Analysis) -> Analysis:
    return replace(base, findings=tuple(replace(one, accepted="loaded so on purpose") for one in base.findings))


BUILDS = (analyses.example, analyses.healthy, analyses.cpu_only, analyses.no_steps, analyses.unusable, analyses.hostile)


@pytest.mark.parametrize("build", BUILDS)
def test_every_log_has_the_shape_of_the_standard(build: Any) -> None:
    assert mistakes(sarif.render(build())) == []
    assert mistakes(sarif.render(accepted(build()))) == []


def test_what_has_another_shape_is_seen() -> None:
    log = json.loads(sarif.render(analyses.example()))
    log["runs"][0]["results"][0]["line"] = 3
    log["runs"][0]["results"][1]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    assert len(mistakes(json.dumps(log))) == 2


def test_an_accepted_finding_is_suppressed_with_its_reason() -> None:
    def suppressed(analysis: Analysis) -> list[Any]:
        return [one.get("suppressions") for one in json.loads(sarif.render(analysis))["runs"][0]["results"]]

    said = [{"kind": "external", "status": "accepted", "justification": "loaded so on purpose"}]
    assert suppressed(accepted(analyses.example())) == [said, said]
    assert suppressed(analyses.example()) == [None, None]


def test_a_job_has_it_too() -> None:
    ranks = Job(dp=4, steps=6, late_host={1: 8 * MS}, from_step=2).run().summaries()
    log = sarif.render(replace(analyses.example(), job=merge(ranks, name="run7")))
    assert mistakes(log) == []
    assert json.loads(log)["runs"][0]["invocations"]
