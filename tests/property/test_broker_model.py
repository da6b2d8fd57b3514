"""The real broker, inbox and store against a simple model in memory, under any run of commands, calls and crashes.

The model knows nothing of rows or leases: it keeps, for every exchange, what was said and who may still read it.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from node.core.commands import Answer, Ask, Cancel, Close, Command, Deliver, Receipt, Report, Request, Steer
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.model import Author, Ladder, MessageKind
from node.ports import Call
from tests.integration.mesh import INJECTION, Agent, Mesh
from tests.property.exchange_model import MOVES, OPEN, Done, Said, Talk, fallen

T = TypeVar("T")

NAMES = ("alice", "bob", "carol")
LIMITS = Limits(
    open_exchanges=3, delivered_exchanges=5, open_questions=2, messages_per_exchange=5, hops=3, inbox_batch=3,
    refusal_rows_per_minute=5,
)  # fmt: skip


class BrokerModel(RuleBasedStateMachine):
    """Rules drive the node and the model alike; invariants compare them after every step."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="helio-model-")
        self.loop = asyncio.Runner()
        self.talks: dict[str, Talk] = {}
        self.said: dict[str, Said] = {}
        self.landed: list[str] = []
        self.done: list[Done] = []
        self.reads: dict[str, str] = {}
        self.ladders: dict[str, Ladder] = {}
        self.given_back: set[str] = set()
        self.this_run: set[str] = set()
        self.reaped = False
        self.moves = 0

    def run(self, work: Coroutine[None, None, T]) -> T:
        async def within() -> T:
            async with asyncio.timeout(20):
                return await work

        return self.loop.run(within())

    @initialize()
    def begin(self) -> None:
        async def seats() -> None:
            self.mesh = await Mesh.open(Path(self.folder.name) / "node.db", limits=LIMITS)
            self.agents = {name: await self.mesh.seat(name) for name in NAMES}

        self.run(seats())

    def teardown(self) -> None:
        if hasattr(self, "mesh"):
            self.run(self.mesh.store.close())
        self.loop.close()
        self.folder.cleanup()

    # --- what the model expects

    def expected(self, name: str, command: Command, *, talk: Talk | None, what: str) -> ErrorCode | None:
        """The code that a command must be refused with, or None."""
        if isinstance(command, Request):
            mine = [t for t in self.talks.values() if t.opener == name and t.status in OPEN]
            if len([t for t in mine if t.status != "delivered"]) >= LIMITS.open_exchanges:
                return ErrorCode.LIMIT
            if len(mine) >= LIMITS.delivered_exchanges or self.hops(name) > LIMITS.hops:
                return ErrorCode.LIMIT
            return None
        assert talk is not None
        if name not in (talk.opener, talk.worker) or (name == talk.worker and self.hidden(talk)):
            return ErrorCode.NOT_FOUND
        if (what in {"ask", "report", "deliver"}) is not (name == talk.worker):
            return ErrorCode.WRONG_STATE
        ends = what in {"accept", "reject", "cancel"} or (what == "deliver" and talk.status != "delivered")
        if len(talk.said) >= LIMITS.messages_per_exchange and not ends:
            return ErrorCode.LIMIT
        if what == "ask" and len(talk.questions) >= LIMITS.open_questions:
            return ErrorCode.LIMIT
        return None if (talk.status, what) in MOVES else ErrorCode.WRONG_STATE

    def hidden(self, talk: Talk) -> bool:
        return talk.said[0].reader is None

    def hops(self, name: str) -> int:
        begun = [t for t in self.talks.values() if t.worker == name and t.status in {"working", "asked"}]
        return max(begun, key=lambda t: t.touched).hops + 1 if begun else 1

    def record(self, talk: Talk, message: str, kind: str, reader: str | None, text: str) -> None:
        said = Said(message, talk.id, reader, kind, text)
        talk.said.append(said)
        self.said[message] = said
        self.moves += 1
        talk.touched = self.moves
        if reader is not None:
            self.landed.append(message)

    # --- commands

    @rule(name=st.sampled_from(NAMES), to=st.sampled_from(NAMES), bad=st.sampled_from([False] * 5 + [True]))
    def request(self, name: str, to: str, *, bad: bool) -> None:
        text = INJECTION if bad else f"Please do number {self.moves}."
        command = Request(to=f"@{to}", text=text)
        if name == to:
            self.refuse(name, command, ErrorCode.INVALID_ARGUMENT)
            return
        wrong = self.expected(name, command, talk=None, what="request")
        if wrong is not None:
            self.refuse(name, command, wrong)
            return
        hops = self.hops(name)
        receipt = self.hand_in(name, command)
        talk = Talk(receipt.exchange.id, name, to, "failed" if bad else "starting", hops)
        self.talks[talk.id] = talk
        self.record(talk, receipt.message.id, "request", None if bad else to, text)

    @precondition(lambda self: self.talks)
    @rule(
        name=st.sampled_from(NAMES),
        which=st.integers(0, 30),
        what=st.sampled_from(["ask", "report", "deliver", "steer", "accept", "reject", "cancel"]),
        bad=st.sampled_from([False] * 6 + [True]),
        fitting=st.sampled_from([True, True, False]),
    )
    def go_on(self, name: str, which: int, what: str, *, bad: bool, fitting: bool) -> None:
        talk = list(self.talks.values())[which % len(self.talks)]
        if fitting:
            name = talk.worker if what in {"ask", "report", "deliver"} else talk.opener
        text = INJECTION if bad else f"Word {self.moves}."
        command: Command = {
            "ask": Ask(exchange=talk.id, text=text),
            "report": Report(exchange=talk.id[:8], text=text),
            "deliver": Deliver(exchange=talk.id, text=text),
            "steer": Steer(exchange=talk.id[:6], text=text),
            "accept": Close(exchange=talk.id, accepted=True, note=text),
            "reject": Close(exchange=talk.id, accepted=False, note=text),
            "cancel": Cancel(exchange=talk.id, reason=text),
        }[what]
        wrong = self.expected(name, command, talk=talk, what=what)
        if wrong is not None:
            self.refuse(name, command, wrong)
            return
        receipt = self.hand_in(name, command)
        other = talk.worker if name == talk.opener else talk.opener
        kind = "close" if what in {"accept", "reject"} else what
        self.record(talk, receipt.message.id, kind, None if bad else other, text)
        if bad:
            return
        talk.status = MOVES[talk.status, what]
        if what == "ask":
            talk.questions.append(receipt.message.id)
        elif what in {"deliver", "cancel", "accept", "reject"}:
            talk.questions.clear()
        if name == talk.worker:
            talk.acted = True
            opening = talk.said[0]
            opening.read, opening.held = True, None

    @precondition(lambda self: any(t.questions for t in self.talks.values()))
    @rule(which=st.integers(0, 30), asker=st.booleans())
    def answer(self, which: int, *, asker: bool) -> None:
        asked = [(talk, question) for talk in self.talks.values() for question in talk.questions]
        talk, question = asked[which % len(asked)]
        name = talk.worker if asker else talk.opener
        command = Answer(question=question[:10], text=f"Answer {self.moves}.")
        if asker:
            others = any(t.questions for t in self.talks.values() if t.opener == name)
            self.refuse(name, command, ErrorCode.NOT_FOUND if others else ErrorCode.WRONG_STATE)
            return
        if len(talk.said) >= LIMITS.messages_per_exchange:
            self.refuse(name, command, ErrorCode.LIMIT)
            return
        receipt = self.hand_in(name, command)
        assert receipt.message.reply_to == question
        self.record(talk, receipt.message.id, "answer", talk.worker, command.text)
        talk.questions.remove(question)
        talk.status = "asked" if talk.questions else "working"

    def hand_in(self, name: str, command: Command) -> Receipt:
        call = self.fresh_call(name, command)
        receipt, _ = self.run(self.mesh.exchanges.send(call, command, 0))
        assert not receipt.repeated
        self.done.append(Done(call, command, receipt.message.id))
        return receipt

    def fresh_call(self, name: str, command: Command) -> Call:
        # A digest of its own, so that an equal command is meant anew; repeats are a rule of their own.
        call = self.agents[name].call(command, self.moves, len(self.done))
        self.this_run.add(call.id)
        return call

    def refuse(self, name: str, command: Command, code: ErrorCode) -> None:
        call = self.fresh_call(name, command)
        try:
            self.run(self.mesh.exchanges.send(call, command, 0))
        except MeshError as refused:
            assert refused.code is code, f"{command} was refused with {refused!r} instead of {code}"
            self.run(self.mesh.exchanges.settle(call.id))
        else:
            raise AssertionError(f"{command} was not refused with {code}")

    @precondition(lambda self: self.done)
    @rule(which=st.integers(0, 60), same_id=st.booleans())
    def repeat(self, which: int, *, same_id: bool) -> None:
        done = self.done[which % len(self.done)]
        if not same_id and done.state == "settled":
            return  # that is a new command
        call = done.call if same_id else Call(
            id=self.mesh.ledger.new_id(), actor=done.call.actor, digest=done.call.digest
        )  # fmt: skip
        self.this_run.add(call.id)
        receipt, _ = self.run(self.mesh.exchanges.send(call, done.command, 0))
        assert receipt.repeated
        assert receipt.message.id == done.message
        done.call, done.state = call, "running"

    @precondition(lambda self: self.done)
    @rule(which=st.integers(0, 60))
    def client_has_it(self, which: int) -> None:
        done = self.done[which % len(self.done)]
        self.run(self.mesh.exchanges.settle(done.call.id))
        if done.state != "abandoned":
            done.state = "settled"

    # --- reading

    @rule(name=st.sampled_from(NAMES), which=st.integers(-1, 30), end=st.sampled_from(["settle", "back", "leave"]))
    def read(self, name: str, which: int, end: str) -> None:
        mine = [t for t in self.talks.values() if name == t.opener or (name == t.worker and not self.hidden(t))]
        only = mine[which % len(mine)].id if which >= 0 and mine else None
        call = self.agents[name].call("read")
        self.this_run.add(call.id)
        arrival = self.run(self.mesh.exchanges.read_inbox(call, only))
        waiting = [self.said[m] for m in self.landed if self.said[m].reader == name and self.said[m].unread]
        wanted = [s for s in waiting if only is None or s.exchange == only]
        assert [t.message.text for t in arrival.taken] == [s.text for s in wanted[: LIMITS.inbox_batch]]
        assert arrival.remaining == len(wanted) - len(arrival.taken)
        for taken in arrival.taken:
            said = self.said[taken.message.id]
            said.held = said.took = call.id
            assert taken.sender == f"@{self.other(said)}" or said.kind == "note"
        self.reads[call.id] = name
        if end == "settle":
            self.settle_read(call.id)
        elif end == "back":
            self.back(call.id)

    def other(self, said: Said) -> str:
        talk = self.talks[said.exchange]
        return talk.worker if said.reader == talk.opener else talk.opener

    @precondition(lambda self: self.reads)
    @rule(which=st.integers(0, 60), back=st.booleans())
    def late_word(self, which: int, *, back: bool) -> None:
        call = list(self.reads)[which % len(self.reads)]
        if back:
            self.back(call)
        else:
            self.settle_read(call)

    def settle_read(self, call: str) -> None:
        self.run(self.mesh.exchanges.settle(call))
        self.this_run.add(call)
        for said in self.said.values():
            if said.held == call:
                said.held, said.read = None, True
                talk = self.talks[said.exchange]
                if said.kind == "request" and talk.status == "starting":
                    talk.status = "working"

    def back(self, call: str) -> None:
        self.run(self.mesh.exchanges.give_back(call))
        self.this_run.add(call)
        self.unread_again(call)

    def unread_again(self, call: str) -> None:
        for said in self.said.values():
            if said.took == call:
                said.took = None
                proven = said.kind == "request" and self.talks[said.exchange].acted
                said.held, said.read = None, proven
                self.given_back.add(said.id)
        for done in self.done:
            if done.call.id == call:
                done.state = "abandoned"

    # --- what happens to sessions and to the node

    @rule(name=st.sampled_from(NAMES), resumes=st.booleans())
    def agent_ends(self, name: str, *, resumes: bool) -> None:
        self.run(self.mesh.ends(self.agents[name]))
        # The openers are told in the order of the exchanges' last messages, the newest first.
        for talk in sorted(self.talks.values(), key=lambda t: -t.touched):
            if talk.worker == name and talk.status in OPEN - {"delivered"} and not talk.ended_told:
                talk.ended_told = True
                self.adopt_note(talk, talk.opener)
        if resumes:
            self.run(self.mesh.resumes(self.agents[name]))
            for talk in self.talks.values():
                if talk.worker == name and talk.status in OPEN:
                    talk.ended_told = False

    def adopt_note(self, talk: Talk, reader: str) -> None:
        """The node wrote a note: the model learns its id, and that there is exactly one more message."""
        messages = self.run(self.mesh.store.read(lambda r: r.messages(talk.id)))
        new = [m for m in messages if m.id not in self.said]
        assert [(m.kind, m.author) for m in new] == [(MessageKind.NOTE, Author.NODE)]
        self.record(talk, new[0].id, "note", reader, new[0].text)

    @rule()
    def the_node_dies_and_comes_back(self) -> None:
        async def reopen() -> None:
            self.mesh = await self.mesh.reopened()
            self.agents = {n: Agent(mesh=self.mesh, session=a.session) for n, a in self.agents.items()}

        self.run(reopen())
        self.this_run.clear()
        self.reaped = False

    @rule()
    def nobody_came_back(self) -> None:
        left = [call for call in (*self.reads, *(d.call.id for d in self.done)) if call not in self.this_run]
        self.run(self.mesh.exchanges.reap())
        if self.reaped:
            return
        self.reaped = True
        held = {s.held for s in self.said.values()}
        for call in left:
            if call in held or any(d.call.id == call and d.state == "running" for d in self.done):
                self.unread_again(call)

    # --- what must hold

    @invariant()
    def all_is_as_the_model_says(self) -> None:
        if not hasattr(self, "mesh"):
            return
        exchanges = self.run(self.mesh.store.read(lambda r: r.exchanges(closed=True, limit=1000)))
        assert {e.id: e.status.value for e in exchanges} == {t.id: t.status for t in self.talks.values()}
        for exchange in exchanges:
            talk = self.talks[exchange.id]
            messages = self.run(self.mesh.store.read(lambda r, e=exchange.id: r.messages(e)))
            assert [m.number for m in messages] == list(range(1, len(messages) + 1))
            assert [(m.id, m.text) for m in messages] == [(s.id, s.text) for s in talk.said]
            assert exchange.next_number == len(messages) + 1
            assert list(exchange.questions) == talk.questions
            assert len(exchange.hops) == talk.hops
            for message in messages:
                self.climbs(message.id, message.ladder)
        for name, agent in self.agents.items():
            unread = self.run(self.mesh.store.read(lambda r, a=agent.address: r.unread(a, None, 1000)))
            assert [m.id for m in unread] == [
                m for m in self.landed if self.said[m].reader == name and self.said[m].unread
            ]

    def climbs(self, message: str, now: Ladder) -> None:
        fell = fallen(self.ladders.get(message, now), now, given_back=message in self.given_back)
        assert not fell, f"{fell} of {message} went down to {now}"
        assert (now.read_us is not None) == self.said[message].read
        assert (now.landed_us is not None) == (self.said[message].reader is not None)
        self.ladders[message] = now

    @invariant()
    def the_timeline_proves_it(self) -> None:
        if not hasattr(self, "mesh"):
            return
        found = self.run(self.mesh.verification())
        assert found.ok, found.problem
        decided = [r for r in self.run(self.mesh.rows()) if r["row"] == "message" and r["decision"] != "refused"]
        told = {row["msg"]: row["decision"] for row in decided}
        assert len(told) == len(decided)
        assert told == {s.id: "withheld" if s.reader is None else "relayed" for s in self.said.values()}


BrokerModel.TestCase.settings = settings(
    max_examples=30,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestBrokerModel = BrokerModel.TestCase
