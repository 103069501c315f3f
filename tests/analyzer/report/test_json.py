import json as stdlib_json

import pytest

from analyzer.report import json, schema
from running.json_schema import jsonschema
from showing import analyses

EXAMPLES = [
    analyses.example, analyses.healthy, analyses.cpu_only, analyses.no_steps, analyses.unusable, analyses.hostile,
]  # fmt: skip


def test_shipped_schema_is_the_one_of_the_classes():
    assert schema.SHIPPED.read_text(encoding="utf-8") == schema.render(), "run python -m analyzer.report.schema"


def test_schema_is_a_valid_schema():
    jsonschema.Draft202012Validator.check_schema(schema.schema())


@pytest.mark.parametrize("build", EXAMPLES)
def test_document_follows_the_schema(build):
    jsonschema.Draft202012Validator(schema.schema()).validate(stdlib_json.loads(json.render(build())))


def test_schema_refuses_a_document_without_a_required_key():
    document = stdlib_json.loads(json.render(analyses.example()))
    del document["summary"]["waterfall"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema.schema()).validate(document)


def test_same_analysis_gives_the_same_bytes():
    assert json.render(analyses.example()) == json.render(analyses.example())


def test_waterfall_adds_up_and_integers_stay_whole():
    summary = stdlib_json.loads(json.render(analyses.example()))["summary"]
    assert sum(part["ns"] for part in summary["waterfall"]) == summary["window_ns"]


def test_ends_in_one_newline_and_holds_no_raw_control_character():
    text = json.render(analyses.hostile())
    assert text.endswith("}\n")
    assert "\x1b" not in text
    assert "\x00" not in text
