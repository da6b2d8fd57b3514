"""The tools that agents call: names, descriptions, arguments, hints, and the catalogue that the shim answers from.

Fields that a model makes up are ignored, never an error; no argument says who is calling.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, cast

from pydantic import BaseModel, BeforeValidator, Field, ValidationError
from pydantic.json_schema import SkipJsonSchema

from node import mcp_words as words
from node.core import commands
from node.core.limits import Limits
from node.mcp_words import JsonObject
from node.version import VERSION

SERVER_NAME: Final = "heliograph"
_WAIT_DEFAULT: Final = Limits().wait_default_s
_WAIT_MOST: Final = Limits().wait_max_s


def _none_if_blank(given: object) -> object:
    return None if isinstance(given, str) and not given.strip() else given


def _not_blank(given: object) -> object:
    if isinstance(given, str) and not given.strip():
        raise ValueError("it must say something")
    return given


Text = Annotated[str, BeforeValidator(_not_blank)]
OptionalText = Annotated[str, BeforeValidator(lambda given: "" if given is None else given)]
OptionalId = Annotated[str | SkipJsonSchema[None], BeforeValidator(_none_if_blank)]
Seconds = Annotated[
    int | SkipJsonSchema[None],
    Field(
        description=f"How long to block, in seconds, 0 to {_WAIT_MOST}; default {_WAIT_DEFAULT}. 0 returns at once. "
        f"Your client may give up on a call long before {_WAIT_MOST} s; waiting again loses nothing."
    ),
]
Exchange = Annotated[
    OptionalId,
    Field(description="Id of the exchange, or its first 6 or more characters. Needed only when several would fit."),
]


class Arguments(BaseModel):
    """What a tool call carries."""


class Sending(Arguments, ABC):
    """Arguments of a tool that hands in a command."""

    idempotency_key: Annotated[
        Annotated[str, Field(max_length=200)] | SkipJsonSchema[None],
        BeforeValidator(_none_if_blank),
        Field(description="Optional. A call repeated with the same key is done once and returns the first result."),
    ] = None

    @abstractmethod
    def command(self) -> commands.Command:
        """What the call asks of the node."""


class RequestArguments(Sending):
    to: Text = Field(description="Who is asked: the @nickname of a session, from list_peers.")
    text: Text = Field(
        description="What is wanted, complete in itself: the other agent sees nothing of your conversation. Say what "
        "the result should look like and what is out of bounds."
    )
    title: OptionalText = Field(
        default="", description="A few words that name the work. Derived from the text if left out."
    )
    wait_seconds: Seconds = None

    def command(self) -> commands.Command:
        return commands.Request(to=self.to, text=self.text, title=self.title)


class ListPeersArguments(Arguments):
    pass


class ListDelegationsArguments(Arguments):
    exchange: Annotated[
        OptionalId,
        Field(description="Show only this exchange, with the texts of its messages. Id or 6+ characters of it."),
    ] = None
    include_closed: bool = Field(default=False, description="Also show what is closed.")


class ReadInboxArguments(Arguments):
    exchange: Annotated[OptionalId, Field(description="Read only this exchange. Id or 6+ characters of it.")] = None


class WaitArguments(Arguments):
    exchange: Annotated[OptionalId, Field(description="Wait for this exchange only. Id or 6+ characters of it.")] = None
    wait_seconds: Seconds = None


class AskArguments(Sending):
    text: Text = Field(description="The question, with the choices you see and which one you would take.")
    exchange: Exchange = None
    wait_seconds: Seconds = None

    def command(self) -> commands.Command:
        return commands.Ask(exchange=self.exchange, text=self.text)


class ReportArguments(Sending):
    text: Text = Field(description="How it goes: what is done, what comes next, what might go wrong.")
    exchange: Exchange = None

    def command(self) -> commands.Command:
        return commands.Report(exchange=self.exchange, text=self.text)


class DeliverArguments(Sending):
    text: Text = Field(
        description="The whole result, or where it is. Say what was not done and what you are unsure of."
    )
    exchange: Exchange = None
    title: OptionalText = Field(default="", description="A few words that name the result.")

    def command(self) -> commands.Command:
        return commands.Deliver(exchange=self.exchange, text=self.text, title=self.title)


class AnswerArguments(Sending):
    text: Text = Field(description="The answer.")
    question: Annotated[
        OptionalId,
        Field(description="Id of the question (6+ characters), or of its exchange. Needed only when several are open."),
    ] = None

    def command(self) -> commands.Command:
        return commands.Answer(question=self.question, text=self.text)


class SteerArguments(Sending):
    text: Text = Field(description="What to change or to add.")
    exchange: Exchange = None

    def command(self) -> commands.Command:
        return commands.Steer(exchange=self.exchange, text=self.text)


class CloseArguments(Sending):
    outcome: Literal["accepted", "rejected"] = Field(description="Whether the result is taken.")
    exchange: Exchange = None
    note: OptionalText = Field(default="", description="A word on why; for a rejection say what was missing.")

    def command(self) -> commands.Command:
        return commands.Close(exchange=self.exchange, accepted=self.outcome == "accepted", note=self.note)


class CancelArguments(Sending):
    exchange: Exchange = None
    reason: OptionalText = Field(default="", description="Why it is no longer wanted.")

    def command(self) -> commands.Command:
        return commands.Cancel(exchange=self.exchange, reason=self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool as a model sees it. `ends` marks a call which cannot be taken back."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    reads: bool = False
    ends: bool = False
    again: bool = False

    def wire(self) -> JsonObject:
        """The tool as tools/list shows it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": _plain(self.arguments.model_json_schema()),
            "annotations": {
                "readOnlyHint": self.reads,
                "destructiveHint": self.ends,
                "idempotentHint": self.reads or self.again,
                "openWorldHint": False,
            },
        }


def _plain(schema: Mapping[str, object]) -> JsonObject:
    """The schema without what tells a model nothing: generated titles, defaults of null, our own class comments."""
    properties = cast("Mapping[str, Mapping[str, object]]", schema.get("properties", {}))
    shown = {
        name: {key: value for key, value in one.items() if key != "title" and (key, value) != ("default", None)}
        # The key is every command's least important argument, so it comes last.
        for name, one in sorted(properties.items(), key=lambda item: item[0] == "idempotency_key")
    }
    plain: dict[str, object] = {"type": "object", "properties": shown}
    if "required" in schema:
        plain["required"] = schema["required"]
    return cast("JsonObject", plain)


_ALL: Final = (
    Tool(
        name="request",
        title="Ask another session for something",
        description="Ask a session that already runs, by @nickname, to do something. Any session may call it. "
        "Blocks up to wait_seconds and returns what came back first: a question (call answer), a "
        "report, or the delivered result (check it, then close_delegation, or steer for more). If "
        "nothing came in time the work goes on: call wait with the exchange id that is returned. The "
        "peer acts on its own and sees only your text.",
        arguments=RequestArguments,
    ),
    Tool(
        name="list_peers",
        title="List the sessions in reach",
        description="List the sessions you can send a request to: @nickname, title, what each is doing, and how "
        "many exchanges it has open with you. Any session may call it. Next: request.",
        arguments=ListPeersArguments,
        reads=True,
    ),
    Tool(
        name="list_delegations",
        title="List your exchanges",
        description="List the exchanges you are an end of, with status, your role, open questions, and for each "
        "message you handed in how far it provably got (recorded, landed, noticed, turn confirmed, "
        "read, answered). With exchange it also shows the texts. Any session may call it; it marks "
        "nothing as read. Use it to find ids, or to recall where things stand.",
        arguments=ListDelegationsArguments,
        reads=True,
    ),
    Tool(
        name="read_inbox",
        title="Read waiting messages",
        description="Take the messages that wait for you: requests, questions, answers, reports, results. Call it "
        "when a [heliograph] notice stands at your prompt. Any session may call it; it never blocks. "
        "Each message says who wrote it, which exchange it belongs to and what to do next. Taken "
        "messages count as read.",
        arguments=ReadInboxArguments,
    ),
    Tool(
        name="wait",
        title="Wait for messages",
        description="Block until a message for you arrives or wait_seconds run out, and take it. Any session may "
        "call it. With exchange it waits for that one, and returns early with a pointer when "
        "something arrives on another. When the time is up nothing is lost: call wait again, or go on "
        "and read_inbox later.",
        arguments=WaitArguments,
    ),
    Tool(
        name="ask",
        title="Ask whoever gave you the work",
        description="Ask a question about work that was given to you; it goes back to whoever gave it, never to "
        "your own user. For the delegate or peer session of an exchange. Blocks up to wait_seconds "
        "for the answer; if none came, go on with what does not depend on it, or call wait.",
        arguments=AskArguments,
    ),
    Tool(
        name="report",
        title="Report progress",
        description="Tell whoever gave you the work how it goes. For the delegate or peer session of an exchange. "
        "It never blocks and needs no answer; go on working, and call deliver when done.",
        arguments=ReportArguments,
    ),
    Tool(
        name="deliver",
        title="Deliver the result",
        description="Hand in the result of work that was given to you. For the delegate or peer session of an "
        "exchange. It withdraws your open questions but closes nothing: the other end accepts, "
        "rejects or steers for more. Next: nothing, unless a notice tells you to read_inbox.",
        arguments=DeliverArguments,
    ),
    Tool(
        name="answer",
        title="Answer a question",
        description="Answer a question about work that you gave out. For the delegator or asker of an exchange. "
        "Answer from what you know; turn to your own user only if you cannot. Next: wait for the "
        "result.",
        arguments=AnswerArguments,
    ),
    Tool(
        name="steer",
        title="Change or add to the work",
        description="Change or add to work that you gave out, also after it was delivered: it is then worked on "
        "again. For the delegator or asker of an exchange. Next: wait for the result.",
        arguments=SteerArguments,
    ),
    Tool(
        name="close_delegation",
        title="Accept or reject the result",
        description="Close an exchange whose result was delivered, as accepted or rejected. For the delegator or "
        "asker of an exchange. Closing is final; to have more done, steer instead.",
        arguments=CloseArguments,
        ends=True,
        again=True,
    ),
    Tool(
        name="cancel",
        title="Call the work off",
        description="Call off work that you gave out and no longer want; its worker is told to stop. For the "
        "delegator or asker of an exchange. It is final.",
        arguments=CancelArguments,
        ends=True,
        again=True,
    ),
)
TOOLS: Final[Mapping[str, Tool]] = {tool.name: tool for tool in _ALL}

_LINE_END: Final[Mapping[type[Sending], str]] = {
    RequestArguments: "Call wait for what comes back.",
    AskArguments: "Call wait for the answer, or go on with what does not depend on it.",
    ReportArguments: "Go on working; call deliver when done.",
    DeliverArguments: "Nothing more to do until a notice comes: the other end closes or steers.",
    AnswerArguments: "Call wait for the result.",
    SteerArguments: "Call wait for the result.",
    CloseArguments: "The exchange is closed; nothing more to do.",
    CancelArguments: "The exchange is closed; nothing more to do.",
}


def line_end(arguments: Sending) -> str:
    """What to do after a command when nothing arrived with it."""
    return _LINE_END[type(arguments)]


def parse(tool: Tool, given: Mapping[str, object]) -> Arguments:
    """The arguments of a call; INVALID_ARGUMENT names what does not fit and never repeats the values."""
    try:
        return tool.arguments.model_validate(given)
    except ValidationError as error:
        faults = [
            (".".join(str(part) for part in fault["loc"]) or "arguments", fault["msg"])
            for fault in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        raise words.bad_arguments(tool.name, faults) from None


def digest(tool: Tool, arguments: Arguments) -> str:
    """What makes two calls the same: SHA-256 over the tool and its known arguments, or over the tool and the key."""
    key = arguments.idempotency_key if isinstance(arguments, Sending) else None
    same: object = {"idempotency_key": key} if key is not None else arguments.model_dump(mode="json", exclude_none=True)
    canonical = json.dumps([tool.name, same], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def server_info() -> JsonObject:
    """Who this server says it is."""
    return {"name": SERVER_NAME, "title": "Heliograph", "version": VERSION}


def catalogue(handshake_versions: Sequence[str], stateless_versions: Sequence[str]) -> JsonObject:
    """All that the shim says without asking the node; stored as node/data/mcp_catalogue.json."""
    return {
        "server": server_info(),
        "handshake_versions": list(handshake_versions),
        "stateless_versions": list(stateless_versions),
        "capabilities": {"tools": {"listChanged": False}},
        "instructions": words.INSTRUCTIONS,
        "tools": [tool.wire() for tool in _ALL],
        "line_bytes": Limits().line_bytes,
        "words": {
            "node_down": words.NODE_DOWN,
            "node_lost": words.NODE_LOST,
            "node_unsafe": words.NODE_UNSAFE,
            "too_many": words.TOO_MANY_AT_ONCE,
            "too_long": words.LINE_TOO_LONG,
        },
    }
