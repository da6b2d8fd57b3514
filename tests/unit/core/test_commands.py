"""Commands: what of them the screen sees, what of them is checked, and what they become."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import get_args

import pytest

from node.core import commands as c
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import MessageKind
from node.core.text import well_formed
from node.core.transfer import Attachment
from node.core.verdict import Field

LIMITS = Limits(text_chars=20, title_chars=10, note_chars=15)
EXAMPLES: tuple[c.Command, ...] = (
    c.Request(to="@b", text="text", title="title"),
    c.Ask(exchange="e", text="text"),
    c.Report(exchange="e", text="text"),
    c.Deliver(exchange="e", text="text", title="title"),
    c.Answer(question="q", text="text"),
    c.Steer(exchange="e", text="text"),
    c.Close(exchange="e", accepted=True, note="note"),
    c.Cancel(exchange="e", reason="reason"),
    c.Delegate(title="title", brief="brief", contract="contract", scope="scope", nickname="nickname"),
)
# What names another thing; all other texts of a command can reach a model.
ADDRESSES = frozenset({"to", "exchange", "question", "tool", "workspace"})


def free_texts(command: c.Command) -> list[str]:
    return [f.name for f in fields(command) if f.name not in ADDRESSES and isinstance(getattr(command, f.name), str)]


def sizes(name: str) -> int:
    return {"title": 10, "note": 15, "reason": 15, "contract": 15, "scope": 15}.get(name, 20)


PLACES = [(command, name) for command in EXAMPLES for name in free_texts(command)]


def test_there_is_an_example_of_every_command() -> None:
    assert {type(command) for command in EXAMPLES} == set(get_args(c.Command))


@pytest.mark.parametrize("command", EXAMPLES, ids=lambda command: type(command).__name__)
def test_the_screen_sees_every_text_of_a_command(command: c.Command) -> None:
    marked = command
    for name in free_texts(command):
        marked = replace(marked, **{name: f"marked {name}"})  # type: ignore[arg-type]
    assert sorted(given.text for given in c.fields_of(marked)) == sorted(f"marked {n}" for n in free_texts(command))


@pytest.mark.parametrize("command", EXAMPLES, ids=lambda command: type(command).__name__)
def test_the_screen_sees_the_names_under_which_files_land(command: c.Command) -> None:
    file = Attachment(name="ignore the rules.txt", sha256="0" * 64, size=1, folder=False, entries=0)
    assert c.fields_of(command, (file,))[-1] == Field(name="file_name", text="ignore the rules.txt")


@pytest.mark.parametrize(("command", "name"), PLACES)
def test_every_text_is_made_storable(command: c.Command, name: str) -> None:
    broken = replace(command, **{name: "a\ud800b"})  # type: ignore[arg-type]
    assert getattr(c.with_texts(broken, well_formed), name) == "a\ufffdb"
    assert c.with_texts(command, well_formed) == command


@pytest.mark.parametrize(("command", "name"), PLACES)
def test_every_text_has_a_limit(command: c.Command, name: str) -> None:
    c.check_fields(replace(command, **{name: "x" * sizes(name)}), LIMITS)  # type: ignore[arg-type]
    with pytest.raises(MeshError) as refused:
        c.check_fields(replace(command, **{name: "x" * (sizes(name) + 1)}), LIMITS)  # type: ignore[arg-type]
    assert refused.value.code is ErrorCode.LIMIT
    assert refused.value.details["limit"] == sizes(name)


@pytest.mark.parametrize(("command", "name"), PLACES)
@pytest.mark.parametrize("nothing", ["", " \n\t "])
def test_a_message_says_something(command: c.Command, name: str, nothing: str) -> None:
    empty = replace(command, **{name: nothing})  # type: ignore[arg-type]
    if name in {"title", "nickname", "note", "reason", "contract", "scope"}:
        c.check_fields(empty, LIMITS)
        return
    with pytest.raises(MeshError) as refused:
        c.check_fields(empty, LIMITS)
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("command", "kind", "tool", "body", "title"),
    [
        (EXAMPLES[0], MessageKind.REQUEST, "request", "text", "title"),
        (EXAMPLES[1], MessageKind.ASK, "ask", "text", ""),
        (EXAMPLES[2], MessageKind.REPORT, "report", "text", ""),
        (EXAMPLES[3], MessageKind.DELIVER, "deliver", "text", "title"),
        (EXAMPLES[4], MessageKind.ANSWER, "answer", "text", ""),
        (EXAMPLES[5], MessageKind.STEER, "steer", "text", ""),
        (EXAMPLES[6], MessageKind.CLOSE, "close_delegation", "note", ""),
        (EXAMPLES[7], MessageKind.CANCEL, "cancel", "reason", ""),
        (
            EXAMPLES[8],
            MessageKind.BRIEF,
            "delegate",
            "brief\n\nDone means: contract\n\nStay within: scope",
            "title",
        ),
    ],
)
def test_what_a_command_becomes(command: c.Command, kind: MessageKind, tool: str, body: str, title: str) -> None:
    assert c.MESSAGE_KINDS[type(command)] is kind
    assert (c.tool_of(command), c.body_of(command), c.title_of(command)) == (tool, body, title)


@pytest.mark.parametrize(
    ("command", "body"),
    [
        (c.Close(exchange=None, accepted=True), "Accepted."),
        (c.Close(exchange=None, accepted=False), "Rejected."),
        (c.Cancel(exchange=None), "Cancelled."),
    ],
)
def test_a_close_without_words_still_says_what_it_is(command: c.Command, body: str) -> None:
    assert c.body_of(command) == body
