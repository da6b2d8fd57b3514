"""The simple model of exchanges which the real node is compared with: what was said, and who may still read it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from node.core.commands import Command
from node.core.model import Ladder
from node.ports import Call

OPEN = {"starting", "working", "asked", "delivered"}


@dataclass(slots=True)
class Said:
    """A message of the model; `reader` is None for a withheld one. `held` names the call that has it in hand."""

    id: str
    exchange: str
    reader: str | None
    kind: str
    text: str
    held: str | None = None
    took: str | None = None
    read: bool = False

    @property
    def unread(self) -> bool:
        return self.reader is not None and not self.read and self.held is None


@dataclass(slots=True)
class Talk:
    """An exchange of the model; `touched` orders exchanges by their last message."""

    id: str
    opener: str
    worker: str
    status: str
    hops: int
    said: list[Said] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    ended_told: bool = False
    acted: bool = False
    touched: int = 0


@dataclass(slots=True)
class Done:
    """A call that handed in a command: what it was, and what it came to."""

    call: Call
    command: Command
    message: str
    state: str = "running"


# (status, what the worker or opener does) -> status afterwards; what is not here is refused.
MOVES = {
    **{(status, "ask"): "asked" for status in OPEN},
    **{(status, "deliver"): "delivered" for status in OPEN},
    **{(status, "cancel"): "cancelled" for status in OPEN},
    ("starting", "report"): "working", ("working", "report"): "working", ("asked", "report"): "asked",
    ("delivered", "report"): "delivered", ("starting", "steer"): "starting", ("working", "steer"): "working",
    ("asked", "steer"): "asked", ("delivered", "steer"): "working", ("delivered", "accept"): "accepted",
    ("delivered", "reject"): "rejected", ("asked", "answer"): "asked",
}  # fmt: skip


def fallen(before: Ladder, now: Ladder, *, given_back: bool) -> list[str]:
    """The rungs of a message's ladder that were reached before and are not any more, or are reached otherwise."""
    fell = []
    for rung in (f.name for f in fields(Ladder)):
        was, is_now = getattr(before, rung), getattr(now, rung)
        if rung == "notices":
            down = is_now < was
        elif rung == "read_us" and given_back:
            down = False
        elif rung == "answered_us":
            down = was is not None and (is_now is None or is_now < was)  # a second delivery answers again
        else:
            down = was is not None and was != is_now
        fell += [rung] if down else []
    return fell
