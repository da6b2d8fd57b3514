"""One run of pairing as a value: where it stands, what was said, how it begins (docs/adr/0031-pairing.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Grant
from node.core.pairing_code import FEWEST_DIGITS, commitment
from node.core.pairing_events import Effect, Other, Send
from node.core.pairing_messages import NONCE_BYTES, VERSION, Hello, Reason, Role, hello_fault


class State(StrEnum):
    """Where a run stands; PREPARING, PROVING and DERIVING are of runs with a code known beforehand."""

    # The dialer's.
    DIALED = "dialed"
    TYPING = "typing"
    DERIVING = "deriving"
    SIGNING = "signing"
    CONFIRMED = "confirmed"
    VERIFYING = "verifying"
    # The waiter's.
    WAITING = "waiting"
    ANSWERED = "answered"
    SHOWING = "showing"
    PREPARING = "preparing"
    PROVING = "proving"
    CHECKING = "checking"
    DECIDING = "deciding"
    SEALING = "sealing"
    # Over.
    PAIRED = "paired"
    FAILED = "failed"

    @property
    def over(self) -> bool:
        """Whether nothing more can come of the run."""
        return self in {State.PAIRED, State.FAILED}

    @property
    def words(self) -> str:
        """The state as the end of a sentence for this end's person."""
        return _WORDS[self]


_WORDS: Final[dict[State, str]] = {
    State.DIALED: "the other node has not answered yet",
    State.TYPING: "the code on the other node's screen is to be typed here",
    State.DERIVING: "the code is being tried",
    State.SIGNING: "this node is about to say yes",
    State.CONFIRMED: "the other node's person has not agreed yet",
    State.VERIFYING: "the other node's yes is being checked",
    State.WAITING: "no other node has come yet",
    State.ANSWERED: "the other node has not shown what it committed to yet",
    State.SHOWING: "the code on this screen is to be typed at the other node",
    State.PREPARING: "the code is being tried",
    State.PROVING: "the other node has not shown yet that it knows the code",
    State.CHECKING: "the other node's yes is being checked",
    State.DECIDING: "this node's person is asked",
    State.SEALING: "this node is about to say yes",
    State.PAIRED: "the two are paired",
    State.FAILED: "it came to nothing; begin a new one on both nodes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    """This node as it introduces itself; `gives` is what its person allows whoever is paired in this run."""

    certificate: str
    wants: frozenset[Grant]
    gives: frozenset[Grant]
    name: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of one end.

    `hello` is what this end says, `theirs` what the other said. `nonce` is the dialer's, secret until it is revealed.
    `presented` is the fingerprint of the certificate that TLS presented to the dialer. `run` is the transcript.
    """

    role: Role
    state: State
    hello: Hello
    headless: bool
    digits: int = FEWEST_DIGITS
    nonce: bytes = field(default=b"", repr=False)
    presented: str = ""
    theirs: Hello | None = None
    run: bytes = b""
    key: bytes = field(default=b"", repr=False)
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one input does: the run afterwards, and what to do, in this order."""

    run: Run
    effects: tuple[Effect, ...] = ()


def dial(me: Introduction, *, nonce: bytes, presented: str, digits: int = FEWEST_DIGITS) -> Step:
    """A dialer's run. `nonce`: 32 fresh random bytes; `digits`: the fewest that a code must have here."""
    hello = _hello(me, opening=commitment(me.certificate, nonce))
    run = Run(role=Role.DIALER, state=State.DIALED, hello=hello, headless=False, digits=digits, nonce=_whole(nonce),
              presented=presented)  # fmt: skip
    return Step(run=run, effects=(Send(message=hello),))


def dial_with_code(me: Introduction, *, pake: bytes, presented: str) -> Step:
    """A dialer's run with a code known beforehand; `pake` is this end's SPAKE2 message."""
    hello = _hello(me, pake=pake)
    run = Run(role=Role.DIALER, state=State.DIALED, hello=hello, headless=True, presented=presented)
    return Step(run=run, effects=(Send(message=hello),))


def wait(me: Introduction, *, nonce: bytes, digits: int = FEWEST_DIGITS) -> Run:
    """A waiter's run. `nonce`: 32 fresh random bytes; `digits`: how many its person is shown."""
    hello = _hello(me, opening=_whole(nonce))
    return Run(role=Role.WAITER, state=State.WAITING, hello=hello, headless=False, digits=digits)


def wait_with_code(me: Introduction, *, pake: bytes) -> Run:
    """A waiter's run with a code known beforehand; `pake` is this end's SPAKE2 message."""
    return Run(role=Role.WAITER, state=State.WAITING, hello=_hello(me, pake=pake), headless=True)


def _hello(me: Introduction, *, opening: bytes = b"", pake: bytes = b"") -> Hello:
    hello = Hello(
        version=VERSION, certificate=me.certificate, opening=opening, pake=pake, name=me.name, port=me.port,
        wants=tuple(sorted(me.wants)), gives=tuple(sorted(me.gives)),
    )  # fmt: skip
    if hello_fault(hello) is not None:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            "This node cannot introduce itself so: its certificate, name or port is not fit for pairing. Give it a "
            "name of at most 64 characters.",
        )
    return hello


def _whole(nonce: bytes) -> bytes:
    if len(nonce) != NONCE_BYTES:
        raise ValueError(f"a nonce has {NONCE_BYTES} bytes, not {len(nonce)}")
    return nonce


def other_of(run: Run) -> Other:
    """What is known of the other end, once it has said Hello; both ends derive the same grants from the transcript."""
    theirs = theirs_of(run)
    return Other(
        certificate=theirs.certificate,
        name=theirs.name,
        port=theirs.port,
        wants=theirs.wants,
        gives=theirs.gives,
        # What is in both was said by this node, too, and so is a grant that it knows.
        given=frozenset(Grant(one) for one in theirs.wants if one in run.hello.gives),
        got=frozenset(Grant(one) for one in theirs.gives if one in run.hello.wants),
    )


def theirs_of(run: Run) -> Hello:
    """The other end's Hello, in a state which has one."""
    if run.theirs is None:
        raise TypeError(run.state)
    return run.theirs
