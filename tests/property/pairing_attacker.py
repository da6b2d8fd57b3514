"""Somebody between two pairing machines, who may drop, replay, reorder, replace and make any message they can make.

`explore` goes through everything that can happen, with people who do as they are told: the dialer's person types what
the waiter's screen shows, and the waiter's person says yes once the other says that their screen took the code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product

from node.core import pairing as p
from node.core.pairing_code import code, commitment, proof, statement, transcript
from node.core.pairing_events import Agreed, CodeTyped, Ended, Input, Show
from node.core.pairing_messages import Abort, Confirm, Hello, Message, Reveal, Role
from node.core.pairing_run import Run, State, Step
from tests.pairing_twins import (
    DIALER,
    DIALER_PAKE,
    WAITER,
    WAITER_PAKE,
    Advance,
    beginnings,
    bytes_of,
    pem,
    same_code,
    sent,
    settle,
    signature,
)

ATTACKER = pem("attacker")
COMMITTED, OTHER_NONCE = bytes_of("the attacker's nonce"), bytes_of("another nonce of the attacker")
ATTACKER_PAKE = bytes_of("the attacker's pake", 33)
WORTHLESS = Confirm(signature=b"worthless")


def heedless(run: Run, given: Input) -> Step:
    """The machine as it would be if the waiter took any nonce: as if the dialer had committed to the one it shows."""
    if isinstance(given, Reveal) and run.state is State.ANSWERED and run.theirs is not None:
        run = replace(run, theirs=as_if_committed(run.theirs, given.nonce))
    return p.step(run, given)


def as_if_committed(hello: Hello, nonce: bytes) -> Hello:
    return replace(hello, opening=commitment(hello.certificate, nonce))


@cache
def ground(wanted: str, dialer: Hello, waiter: Hello, tries: int) -> bytes | None:
    """A nonce with which the waiter would show the wanted code, if it took any nonce."""
    for number in range(tries):
        nonce = number.to_bytes(32, "big")
        if code(transcript(as_if_committed(dialer, nonce), waiter, nonce), len(wanted)) == wanted:
            return nonce
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Both runs, what the people know and what was overheard. Of a failed run only the transcript is kept."""

    dialer: Run
    waiter: Run
    screen: str = ""
    typed: bool = False
    heard: frozenset[Message] = frozenset()

    @property
    def forged(self) -> bool:
        """Whether an end believes in a pair that is not the true one."""
        return any(
            run.state is State.PAIRED
            and (run.theirs is None or run.theirs.certificate != true or self.dialer.run != self.waiter.run)
            for run, true in ((self.dialer, WAITER.certificate), (self.waiter, DIALER.certificate))
        )

    @property
    def paired(self) -> bool:
        """Whether both are through."""
        return self.dialer.state is self.waiter.state is State.PAIRED


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ended without a pair, and whether its own Confirm was out by then."""

    role: Role
    state: State
    ended: Ended
    confirmed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """What machine is attacked and what the attacker can do.

    `presented` is what TLS presents to the dialer. `digits` of 0: with a code known beforehand; `guessed`: the attacker
    knows it. `grinds`: it searches for nonces. `gullible`: the waiter's person says yes whenever they are asked.
    """

    presented: str
    digits: int = 6
    advance: Advance = p.step
    grinds: bool = False
    guessed: bool = False
    gullible: bool = False
    endings: set[Ending] = field(default_factory=set)

    def explore(self) -> Iterator[World]:
        """Every world that can come about, each once."""
        ends = beginnings(headless=not self.digits, digits=self.digits, presented=self.presented)
        first = World(dialer=ends.dialer.run, waiter=ends.waiter, heard=frozenset(sent(ends.dialer.effects)))
        seen, ahead = {first}, [first]
        while ahead:
            world = ahead.pop()
            yield world
            for following in self.moves(world):
                if following not in seen:
                    seen.add(following)
                    ahead.append(following)

    def moves(self, world: World) -> Iterator[World]:
        for role, run in ((Role.DIALER, world.dialer), (Role.WAITER, world.waiter)):
            if not run.state.over:
                for message in self.messages(world, run):
                    yield self.after(world, role, message)
        if world.dialer.state is State.TYPING and world.screen:
            yield self.after(world, Role.DIALER, CodeTyped(code=world.screen))
        if world.waiter.state is State.DECIDING and (world.typed or self.gullible):
            yield self.after(world, Role.WAITER, Agreed())

    def after(self, world: World, role: Role, given: Input) -> World:
        run = world.dialer if role is Role.DIALER else world.waiter
        before = run.state
        run, effects = settle(run, given, advance=self.advance, derive=self.derive)
        if run.state is State.FAILED:
            ended = next(effect for effect in effects if isinstance(effect, Ended))
            confirmed = any(isinstance(message, Confirm) for message in world.heard)
            self.endings.add(Ending(role=role, state=before, ended=ended, confirmed=confirmed))
            run = replace(run, theirs=None, reason=None)
        world = replace(world, dialer=run) if role is Role.DIALER else replace(world, waiter=run)
        took = isinstance(given, CodeTyped) and run.state is not State.FAILED
        return replace(
            world,
            screen=next((effect.code for effect in effects if isinstance(effect, Show)), world.screen),
            typed=world.typed or took,
            heard=world.heard | {message for message in sent(effects) if not isinstance(message, Abort)},
        )

    def derive(self, mine: bytes, theirs: bytes) -> bytes:
        """SPAKE2 as it is proven to be: who guessed wrong knows nothing of the key."""
        honest = {mine, theirs} == {DIALER_PAKE, WAITER_PAKE}
        return same_code(mine, theirs) if honest or self.guessed else bytes_of(f"unknown {mine!r} {theirs!r}")

    # --- what can be said -----------------------------------------------------------------------------------------

    def messages(self, world: World, run: Run) -> Iterator[Message]:
        """What the attacker can say to an end where it stands. Of what is out of order there, one message is enough."""
        yield Abort(reason="declined")
        match run.state:
            case State.DIALED | State.WAITING:
                yield from self.hellos(world, run)
                yield WORTHLESS
            case State.ANSWERED:
                yield from (Reveal(nonce=nonce) for nonce in self.nonces(world))
                nonce = self.grind(world) if self.grinds else None
                if nonce is not None:
                    yield Reveal(nonce=nonce)
                yield WORTHLESS
            case State.SHOWING | State.CONFIRMED | State.PROVING:
                yield from self.confirms(world, run)
                yield Reveal(nonce=COMMITTED)
            case _:
                yield WORTHLESS

    def hellos(self, world: World, run: Run) -> Iterator[Hello]:
        overheard = [hello for hello in (world.dialer.hello, world.waiter.hello) if hello in world.heard]
        patterns = [*overheard, replace(overheard[0], wants=("mirror-timeline", "request"), name="the attacker")]
        if run.headless:
            openings = [(b"", ATTACKER_PAKE), *((b"", hello.pake) for hello in overheard)]
        else:
            nonces = self.nonces(world)
            made = {commitment(cert, nonce) for cert in (ATTACKER, DIALER.certificate) for nonce in nonces}
            said = {*nonces, *(made if run.role is Role.WAITER else ()), *(hello.opening for hello in overheard)}
            openings = [(one, b"") for one in sorted(said)]
        certificates = (ATTACKER, DIALER.certificate, WAITER.certificate)
        for pattern, certificate, (opening, pake) in product(patterns, certificates, openings):
            yield replace(pattern, certificate=certificate, opening=opening, pake=pake)

    @staticmethod
    def nonces(world: World) -> set[bytes]:
        revealed = {message.nonce for message in world.heard if isinstance(message, Reveal)}
        shown = {world.waiter.hello.opening for message in world.heard if message == world.waiter.hello}
        return {COMMITTED, OTHER_NONCE} | revealed | shown

    def confirms(self, world: World, run: Run) -> Iterator[Confirm]:
        other = Role.WAITER if run.role is Role.DIALER else Role.DIALER
        overheard = [message for message in world.heard if isinstance(message, Confirm)]
        # It hears all that is said and can work out what the end expects, but can sign with its own key alone.
        signatures = {signature(ATTACKER, statement(run.run, other)), *(one.signature for one in overheard)}
        proofs = {b""}
        if run.headless:
            proofs = {bytes(32), *(one.proof for one in overheard)}
            if self.guessed and run.theirs is not None and run.theirs.pake == ATTACKER_PAKE:
                proofs.add(proof(same_code(run.hello.pake, ATTACKER_PAKE), run.run, other))
        for signed, shown in product(sorted(signatures), sorted(proofs)):
            yield Confirm(signature=signed, proof=shown)

    def grind(self, world: World) -> bytes | None:
        theirs, waiter = world.waiter.theirs, world.waiter.hello
        if world.dialer.state is not State.TYPING or theirs is None or theirs.certificate != ATTACKER:
            return None
        return ground(code(world.dialer.run, self.digits), theirs, waiter, 20 * 10**self.digits)
