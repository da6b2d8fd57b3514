"""The tools that agents call: names, descriptions, arguments, hints, and the catalogue that the shim answers from.

Fields that a model makes up are ignored, never an error; no argument says who is calling.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from pydantic import ValidationError

from node import mcp_words as words
from node.core.limits import Limits
from node.mcp_arguments import (
    AnswerArguments,
    Arguments,
    AskArguments,
    CancelArguments,
    CloseArguments,
    DelegateArguments,
    DeliverArguments,
    ListDelegationsArguments,
    ListPeersArguments,
    ReadInboxArguments,
    ReportArguments,
    RequestArguments,
    Sending,
    SteerArguments,
    WaitArguments,
    WorktreeCreateArguments,
    WorktreeMergeArguments,
    WorktreeStatusArguments,
)
from node.mcp_words import JsonObject
from node.version import VERSION

SERVER_NAME: Final = "heliograph"


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
        name="delegate",
        title="Hand work to a fresh agent",
        description="Start a fresh agent and hand it a piece of work of its own. Any session may call it, up to three "
        "levels deep. Returns at once with the exchange id: call wait for questions (answer them) and for the result "
        "(check it, then close_delegation, or steer for more). Its branch stays when the delegation is closed. Use "
        "request instead to ask an agent that already runs.",
        arguments=DelegateArguments,
    ),
    Tool(
        name="list_peers",
        title="List the sessions in reach",
        description="List the sessions you can send a request to: name, host, title, what each is doing, and how "
        "many exchanges it has open with you. Those on another Mac are named @nickname@host. Any session may call it. "
        "Next: request.",
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
        name="worktree_create",
        title="Make a worktree of your own",
        description="Make a git worktree on a new branch for yourself, from the HEAD of the repository you work in. "
        "Any session may call it. Returns its folder: work there from then on. Next: worktree_merge when it is done.",
        arguments=WorktreeCreateArguments,
    ),
    Tool(
        name="worktree_status",
        title="See how a worktree stands",
        description="Show branch, folder, commits ahead and behind, changed files and conflicts of your own worktree, "
        "or with exchange of your delegate's. Any session may call it.",
        arguments=WorktreeStatusArguments,
        reads=True,
    ),
    Tool(
        name="worktree_merge",
        title="Merge a worktree's branch",
        description="Merge the branch of your own worktree, or with exchange of your delegate's, into the branch it "
        "began at. Any session may call it. A person approves each merge: the call waits for that, and is to be "
        "repeated once it is allowed. A conflict changes nothing and names its files: resolve them in the worktree "
        "(steer the delegate to), then merge again.",
        arguments=WorktreeMergeArguments,
        ends=True,
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
    DelegateArguments: "The delegate is being started and reads the brief; call wait for what comes back.",
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
