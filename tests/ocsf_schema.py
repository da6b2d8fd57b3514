"""The OCSF schema for tests: 1.8.0 as the package ocsf-json-schema carries it, and 1.9 as what that version added."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema

ADDED = json.loads((Path(__file__).parent / "vectors" / "ocsf_1_9.json").read_text("utf-8"))


@cache
def _schema(version: str) -> OcsfJsonSchemaEmbedded:
    schema = get_ocsf_schema(version="1.8.0")
    return OcsfJsonSchemaEmbedded(schema if version == "1.8.0" else _grown(deepcopy(schema)))


@cache
def _validator(version: str, class_uid: int, profiles: tuple[str, ...]) -> Draft202012Validator:
    schema = _schema(version)
    name = schema.lookup_class_name_from_uid(class_uid)
    return Draft202012Validator(schema.get_class_schema(name, list(profiles)))


def faults(event: dict[str, Any]) -> list[str]:
    """What the schema says against an event, with the profiles that it names; attributes outside it are a fault."""
    metadata = event["metadata"]
    validator = _validator(metadata["version"], event["class_uid"], tuple(metadata["profiles"]))
    return [f"{'/'.join(map(str, error.path))}: {error.message}" for error in validator.iter_errors(event)]


def _grown(schema: dict[str, Any]) -> dict[str, Any]:
    schema["version"] = "1.9.0"
    for name, added in ADDED["objects"].items():
        schema["objects"][name] = {
            "name": name,
            "caption": name,
            "attributes": {attribute: _attribute(*of) for attribute, of in added["attributes"].items()},
            **({"constraints": {"at_least_one": added["at_least_one"]}} if "at_least_one" in added else {}),
        }
    for kind in ("objects", "classes"):
        for name, attributes in ADDED[f"added_to_{kind}"].items():
            schema[kind][name]["attributes"] |= {attribute: _attribute(*of) for attribute, of in attributes.items()}
    for name, attribute in ADDED["at_least_one_also"].items():
        schema["objects"][name]["constraints"]["at_least_one"].append(attribute)
    for name, attributes in ADDED["deprecated"].items():
        for attribute in attributes:
            # For these tests what is on its way out is out.
            del schema["objects"][name]["attributes"][attribute]
    return schema


def _attribute(sort: str, requirement: str, more: object = None, profile: str | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {"requirement": requirement, "caption": sort, "profiles": [profile] if profile else []}
    if sort in {"object", "objects"}:
        return made | {"type": "object_t", "object_type": more, "is_array": sort == "objects"}
    made["type"] = sort
    if more is not None:
        assert isinstance(more, dict)
        made["enum"] = {number: {"caption": words} for number, words in more.items()}
    return made
