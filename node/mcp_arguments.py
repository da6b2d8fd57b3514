"""What tool calls carry: names, checks and descriptions of their arguments, as models see them.

Fields that a model makes up are ignored, never an error; no argument says who is calling.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from node.core import commands
from node.core.limits import Limits

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


Files = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=1_024)]],
    BeforeValidator(lambda given: [] if given is None else [given] if isinstance(given, str) else given),
    Field(
        max_length=64,
        description="Paths of files or folders to go along, relative to your own folder. What lies outside it needs "
        "the person's approval. The other side finds copies in its inbox.",
    ),
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
    to: Text = Field(
        description="Who is asked: the @nickname of a session, or @nickname@host on another Mac, from list_peers."
    )
    text: Text = Field(
        description="What is wanted, complete in itself: the other agent sees nothing of your conversation. Say what "
        "the result should look like and what is out of bounds."
    )
    title: OptionalText = Field(
        default="", description="A few words that name the work. Derived from the text if left out."
    )
    files: Files = []
    wait_seconds: Seconds = None

    def command(self) -> commands.Command:
        return commands.Request(to=self.to, text=self.text, title=self.title, files=tuple(self.files))


class DelegateArguments(Sending):
    title: Text = Field(description="A few words that name the work.")
    brief: Text = Field(
        description="The work, complete in itself: the delegate starts fresh and sees nothing of your conversation."
    )
    contract: OptionalText = Field(
        default="", description="What done means: what is to be delivered, and how it can be checked."
    )
    scope: OptionalText = Field(default="", description="Where to stay: folders, limits, what not to touch.")
    tool: OptionalText = Field(
        default="", description="Which agent: claude, codex, gemini, opencode or qwen. Left out: the same as you are."
    )
    worktree: bool | SkipJsonSchema[None] = Field(
        default=None,
        description="Whether the delegate works on a branch of its own in a worktree of its own. Left out: yes, in a "
        "git repository.",
    )
    workspace: OptionalText = Field(default="", description="Where it runs. Left out: in the same workspace as you.")
    nickname: OptionalText = Field(default="", description="A name by which others can ask it.")
    files: Files = []

    def command(self) -> commands.Command:
        return commands.Delegate(
            title=self.title,
            brief=self.brief,
            contract=self.contract,
            scope=self.scope,
            tool=self.tool.strip().lower(),
            worktree=self.worktree,
            workspace=self.workspace.strip(),
            nickname=self.nickname.strip(),
            files=tuple(self.files),
        )


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


class WorktreeCreateArguments(Arguments):
    name: OptionalText = Field(default="", description="A few words for the branch. Left out: your session's title.")


class WorktreeStatusArguments(Arguments):
    exchange: Annotated[
        OptionalId, Field(description="Exchange of the delegate whose worktree is meant. Left out: your own.")
    ] = None


class WorktreeMergeArguments(Arguments):
    exchange: Annotated[
        OptionalId, Field(description="Exchange of the delegate whose branch is to be merged. Left out: your own.")
    ] = None


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
    files: Files = []

    def command(self) -> commands.Command:
        return commands.Deliver(exchange=self.exchange, text=self.text, title=self.title, files=tuple(self.files))


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
    files: Files = []

    def command(self) -> commands.Command:
        return commands.Steer(exchange=self.exchange, text=self.text, files=tuple(self.files))


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
