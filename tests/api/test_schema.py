"""The OpenAPI document: complete, free of warnings, and true of what is answered."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from drf_spectacular.validation import validate_schema

from planner.evaluation import evaluate, whatif
from planner.scenario import SHIPPED, load

pytestmark = pytest.mark.django_db
TYPES = {"string": str, "number": (int, float), "integer": int, "boolean": bool, "array": list, "object": dict}


@pytest.fixture(scope="module")
def schema():
    answer = Client().get("/api/v1/schema/", headers={"accept": "application/vnd.oai.openapi+json"})
    assert answer.status_code == 200
    return json.loads(answer.content)


def test_the_document_is_generated_without_a_warning_and_is_valid(capsys):
    out = StringIO()
    call_command("spectacular", "--fail-on-warn", "--validate", "--format", "openapi-json", stdout=out)
    written = capsys.readouterr()
    assert json.loads(out.getvalue() or written.out)["openapi"].startswith("3.")
    assert "arning" not in written.err
    assert "rror" not in written.err


def test_the_document_that_is_served_is_valid_openapi_3(schema):
    validate_schema(schema)
    assert schema["openapi"].startswith("3.")
    assert schema["info"]["title"] == "PrfaaS Planner"


def test_every_address_of_the_api_is_described(schema):
    assert {(path, method) for path, methods in schema["paths"].items() for method in methods} >= {
        ("/api/v1/evaluate/", "post"),
        ("/api/v1/whatif/", "post"),
        ("/api/v1/jobs/", "get"),
        ("/api/v1/jobs/", "post"),
        ("/api/v1/jobs/{id}/", "get"),
        ("/api/v1/jobs/{id}/cancel/", "post"),
    }


def mismatches(schema, part, value, place=""):
    """Where a value is not what its schema says, and what it holds that the schema leaves out."""
    if "$ref" in part:
        part = schema["components"]["schemas"][part["$ref"].rsplit("/", 1)[1]]
    if value is None:
        return [] if part.get("nullable") else [f"{place} is null"]
    if "allOf" in part:
        return mismatches(schema, part["allOf"][0], value, place)
    if "type" in part and not isinstance(value, TYPES[part["type"]]):
        return [f"{place} is no {part['type']}"]
    found = []
    if "properties" in part:
        found += [f"{place}.{key} is not described" for key in value if key not in part["properties"]]
        found += [f"{place}.{key} is missing" for key in part.get("required", []) if key not in value]
        for key, inner in part["properties"].items():
            if key in value:
                found += mismatches(schema, inner, value[key], f"{place}.{key}")
    if isinstance(value, list):
        for item in value:
            found += mismatches(schema, part["items"], item, f"{place}[]")
    return found


def answered(schema, path, status):
    return schema["paths"][path]["post"]["responses"][status]["content"]["application/json"]["schema"]


@pytest.mark.parametrize("name", SHIPPED)
def test_results_are_what_the_document_says(schema, name):
    assert mismatches(schema, answered(schema, "/api/v1/evaluate/", "200"), evaluate(load(name))) == []
    assert mismatches(schema, answered(schema, "/api/v1/whatif/", "200"), whatif(load(name))) == []


@pytest.mark.parametrize("path", ["/api/v1/evaluate/", "/api/v1/whatif/"])
def test_refusals_are_what_the_document_says(schema, path):
    refusal = Client().post(path, {"scenario": "none"}, content_type="application/json").json()
    assert mismatches(schema, answered(schema, path, "400"), refusal) == []


def test_the_check_against_the_document_finds_what_is_wrong(schema):
    result = {**evaluate(load(SHIPPED[0])), "colour": "red", "lambda_max_rps": None, "notes": "none"}
    del result["binding"]
    part = answered(schema, "/api/v1/evaluate/", "200")
    assert len(mismatches(schema, part, result)) == 4


def test_the_documentation_page_is_served_without_inline_scripts():
    page = Client().get("/api/v1/docs/")
    assert page.status_code == 200
    text = page.content.decode()
    assert "<script>" not in text
    assert "https://" not in text
