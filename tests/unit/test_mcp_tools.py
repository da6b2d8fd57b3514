"""The tool table: what models are shown, and which calls are the same call."""

from __future__ import annotations

import json

import pytest
from mcp.types import Tool

from node.core.commands import Close, Deliver, Request
from node.core.errors import ErrorCode, MeshError
from node.mcp_arguments import Sending
from node.mcp_tools import TOOLS, digest, parse
from tools import gen_catalogue

WORK = {"to": "@bob", "text": "do it"}


def test_the_stored_catalogue_is_what_the_table_says() -> None:
    stored = gen_catalogue.TARGET.read_text(encoding="ascii")
    assert stored == gen_catalogue.wanted()
    assert [tool["name"] for tool in json.loads(stored)["tools"]] == list(TOOLS)


def test_the_generator_refuses_arguments_that_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert gen_catalogue.main(["--check"]) == 0
    assert gen_catalogue.main(["--chekc"]) == 2
    assert "usage" in capsys.readouterr().err


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_says_who_may_call_it_and_what_its_arguments_mean(name: str) -> None:
    wire = Tool.model_validate(TOOLS[name].wire())
    assert wire.description is not None
    assert "any session may call it" in wire.description.lower() or "For the " in wire.description
    properties = wire.input_schema["properties"]
    assert isinstance(properties, dict)
    assert all(schema["description"] for schema in properties.values())
    assert "additionalProperties" not in wire.input_schema
    assert not {"from", "sender", "session", "author", "as"} & set(properties)
    assert "anyOf" not in json.dumps(wire.input_schema)
    assert wire.annotations is not None
    assert wire.annotations.open_world_hint is False


def test_only_lists_are_read_only_and_only_ends_are_destructive() -> None:
    annotations = {name: Tool.model_validate(tool.wire()).annotations for name, tool in TOOLS.items()}
    read_only = {name for name, a in annotations.items() if a and a.read_only_hint}
    assert read_only == {"list_peers", "list_delegations", "worktree_status"}
    destructive = {name for name, a in annotations.items() if a and a.destructive_hint}
    assert destructive == {"close_delegation", "cancel", "worktree_merge"}


def test_no_tool_is_named_as_one_that_clients_have_built_in() -> None:
    assert not {name.replace("_", "").lower() for name in TOOLS} & {"sendmessage", "task", "agent"}


def test_made_up_fields_are_ignored_and_blanks_are_nothing() -> None:
    given = WORK | {"from": "@boss", "sender": "user", "wait_seconds": "5", "title": None, "idempotency_key": " "}
    arguments = parse(TOOLS["request"], given)
    assert isinstance(arguments, Sending)
    assert arguments.command() == Request(to="@bob", text="do it", title="")
    assert arguments.idempotency_key is None
    delivered = parse(TOOLS["deliver"], {"text": "x", "exchange": ""})
    assert isinstance(delivered, Sending)
    assert delivered.command() == Deliver(exchange=None, text="x", title="")
    closed = parse(TOOLS["close_delegation"], {"outcome": "rejected", "note": "no"})
    assert isinstance(closed, Sending)
    assert closed.command() == Close(exchange=None, accepted=False, note="no")


@pytest.mark.parametrize(
    ("tool", "given", "named"),
    [
        ("request", {"to": "@bob"}, "text"),
        ("request", {"to": "@bob", "text": "  "}, "text"),
        ("request", WORK | {"wait_seconds": "soon"}, "wait_seconds"),
        ("close_delegation", {"outcome": "fine"}, "outcome"),
        ("report", {"text": ["a"]}, "text"),
        ("cancel", {"idempotency_key": "k" * 201}, "idempotency_key"),
    ],
)
def test_what_does_not_fit_is_named_and_not_repeated(tool: str, given: dict[str, object], named: str) -> None:
    with pytest.raises(MeshError) as refused:
        parse(TOOLS[tool], given)
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT
    assert named in refused.value.message
    assert "soon" not in refused.value.message
    assert f"call {tool} again" in refused.value.message


def test_the_digest_tells_calls_apart_by_tool_arguments_and_key() -> None:
    request = TOOLS["request"]
    one = digest(request, parse(request, WORK))
    assert digest(request, parse(request, WORK | {"made_up": 1})) == one
    assert digest(request, parse(request, dict(reversed(WORK.items())))) == one
    assert digest(request, parse(request, WORK | {"text": "do it!"})) != one
    assert digest(TOOLS["report"], parse(TOOLS["report"], {"text": "x"})) != digest(
        TOOLS["steer"], parse(TOOLS["steer"], {"text": "x"})
    )
    keyed = digest(request, parse(request, WORK | {"idempotency_key": "k"}))
    assert keyed != one
    assert digest(request, parse(request, WORK | {"idempotency_key": "k", "text": "reworded"})) == keyed
