"""Whatever the node shows comes out of the wire as it went in; whatever text an agent wrote can be shown."""

from __future__ import annotations

from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from node import codec, codec_timeline
from node.core import views, views_work
from node.core.model import AgentState, Author, End, Kind, MessageKind, SessionStatus, Status
from node.core.node_status import NodeStatus
from node.core.timeline_check import ClockStep, KeyChange, Problem, ProblemCode, Pruned, Verification
from node.core.views_timeline import view_verification
from node.ports import NewSession
from node.ports_timeline import RowFilter, StoredRow, VerifyProgress
from node.wire.v1 import local_pb2 as pb

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
# Halves of characters are too few among all to be drawn by chance.
ANY_TEXT = st.lists(st.characters() | st.characters(categories=["Cs"]), max_size=40).map("".join)
# None and an empty text are the same on the wire, and so are None and the time 0.
NAME = st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
COUNT = st.integers(0, 2**32 - 1)
BIG = st.integers(0, 2**63 - 1)
TIME = st.integers(1, 2**63 - 1)
LATER = st.none() | TIME
TEXTS = st.lists(TEXT, max_size=3).map(tuple)


def ladders(text: st.SearchStrategy[str] = TEXT) -> st.SearchStrategy[views.LadderView]:
    return st.builds(
        views.LadderView,
        rung=text,
        recorded_us=TIME,
        screened=TEXT,
        landed_us=LATER,
        notices=COUNT,
        held=NAME,
        confirmed_us=LATER,
        read_us=LATER,
        answered_us=LATER,
        gave_up_us=LATER,
    )


FILES = st.builds(views_work.FileView, name=TEXT, size=BIG, sha256=TEXT, folder=st.booleans(), entries=COUNT, path=NAME)


def messages(text: st.SearchStrategy[str] = TEXT) -> st.SearchStrategy[views.MessageView]:
    return st.builds(
        views.MessageView,
        id=TEXT,
        exchange=TEXT,
        number=COUNT,
        kind=st.sampled_from(MessageKind),
        sender_end=st.sampled_from(End),
        author=st.sampled_from(Author),
        sender=text,
        title=text,
        text=text,
        reply_to=NAME,
        ladder=ladders(text),
        withheld=st.booleans(),
        snippet=text,
        advice=text,
        files=st.lists(FILES, max_size=3).map(tuple),
    )


def exchanges(text: st.SearchStrategy[str] = TEXT) -> st.SearchStrategy[views.ExchangeView]:
    return st.builds(
        views.ExchangeView,
        id=TEXT,
        kind=st.sampled_from(Kind),
        status=st.sampled_from(Status),
        status_words=TEXT,
        title=text,
        opener=text,
        worker=text,
        opener_session=NAME,
        worker_session=NAME,
        chain=TEXT,
        hops=st.lists(text, max_size=3).map(tuple),
        parent=NAME,
        questions=TEXTS,
        reason=NAME,
        opened_us=BIG,
        changed_us=BIG,
        messages=COUNT,
        last_word=text,
        rung=text,
        branch=NAME,
    )


def sessions(text: st.SearchStrategy[str] = TEXT) -> st.SearchStrategy[views.SessionView]:
    return st.builds(
        views.SessionView,
        id=TEXT,
        nickname=NAME,
        title=text,
        workspace=text,
        profile=text,
        argv=st.lists(text, max_size=3).map(tuple),
        cwd=text,
        status=st.sampled_from(SessionStatus),
        state=st.sampled_from(AgentState),
        created_us=BIG,
        changed_us=BIG,
        unread=COUNT,
        open_exchanges=COUNT,
        pane=NAME,
        branch=NAME,
    )


@given(sessions())
def test_session(view: views.SessionView) -> None:
    assert codec.session_from_wire(pb.Session.FromString(codec.session_to_wire(view).SerializeToString())) == view


@given(messages())
def test_message(view: views.MessageView) -> None:
    assert codec.message_from_wire(pb.Message.FromString(codec.message_to_wire(view).SerializeToString())) == view


@given(exchanges())
def test_exchange(view: views.ExchangeView) -> None:
    assert codec.exchange_from_wire(pb.Exchange.FromString(codec.exchange_to_wire(view).SerializeToString())) == view


@given(
    st.builds(
        views.ArrivalView,
        exchange=exchanges(),
        messages=st.lists(messages(), max_size=3).map(tuple),
        remaining=COUNT,
        timed_out=st.booleans(),
    )
)
def test_arrival(view: views.ArrivalView) -> None:
    wire = pb.WaitExchangeResponse.FromString(codec.arrival_to_wire(view).SerializeToString())
    assert codec.arrival_from_wire(wire) == view


@given(exchange=exchanges(), message=messages(), repeated=st.booleans())
def test_receipt(exchange: views.ExchangeView, message: views.MessageView, *, repeated: bool) -> None:
    wire = pb.SteerExchangeResponse(
        exchange=codec.exchange_to_wire(exchange), message=codec.message_to_wire(message), repeated=repeated
    )
    assert codec.receipt_from_wire(wire) == views.ReceiptView(exchange=exchange, message=message, repeated=repeated)


@given(
    st.builds(
        NodeStatus,
        node_id=TEXT,
        version=TEXT,
        pid=COUNT,
        started_us=BIG,
        home=TEXT,
        sessions_running=COUNT,
        sessions_ended=COUNT,
        exchanges_open=COUNT,
        questions_open=COUNT,
        timeline_rows=BIG,
        timeline_writable=st.booleans(),
        screen_engine=TEXT,
        screen_version=TEXT,
        notices_owed=COUNT,
        agents_connected=COUNT,
        tmux_version=TEXT,
        screen_scores=st.lists(BIG, max_size=20).map(tuple),
        timeline_alarms=st.lists(TEXT, max_size=3).map(tuple),
    )
)
def test_status(status: NodeStatus) -> None:
    wire = pb.StatusResponse.FromString(codec.status_to_wire(status).SerializeToString())
    assert asdict(codec.status_from_wire(wire)) == asdict(status)


@given(
    st.builds(
        NewSession,
        argv=TEXTS,
        cwd=TEXT,
        env=st.dictionaries(TEXT, TEXT, max_size=4).map(lambda env: tuple(sorted(env.items()))),
        nickname=TEXT,
        title=TEXT,
        workspace=TEXT,
        width=COUNT,
        height=COUNT,
    )
)
def test_new_session(new: NewSession) -> None:
    wire = pb.RunSessionRequest.FromString(codec.new_session_to_wire(new).SerializeToString())
    assert codec.new_session_from_wire(wire) == new


@given(
    follow=st.booleans(),
    wanted=st.builds(
        RowFilter,
        from_seq=BIG,
        limit=BIG,
        engine=TEXT,
        decision=TEXT,
        session=TEXT,
        exchange=TEXT,
        message=TEXT,
        since_us=BIG,
        until_us=BIG,
        tail=st.booleans(),
        log=TEXT,
        before_seq=BIG,
        row=TEXT,
        outcome=TEXT,
        reason=TEXT,
        workspace=TEXT,
        peer=TEXT,
        text=TEXT,
        whole=st.booleans(),
    ),
)
def test_row_filter(wanted: RowFilter, *, follow: bool) -> None:
    data = codec_timeline.row_filter_to_wire(wanted, follow=follow).SerializeToString()
    wire = pb.ReadTimelineRequest.FromString(data)
    assert (codec_timeline.row_filter_from_wire(wire), wire.follow) == (wanted, follow)


@given(
    st.builds(
        StoredRow,
        seq=BIG,
        data=st.binary(max_size=80),
        leaf=st.binary(min_size=32, max_size=32),
        side=st.dictionaries(TEXT, TEXT, max_size=4).map(lambda side: tuple(sorted(side.items()))),
    )
)
def test_row(row: StoredRow) -> None:
    wire = pb.ReadTimelineResponse.FromString(codec_timeline.row_to_wire(row).SerializeToString())
    assert asdict(codec_timeline.row_from_wire(wire)) == asdict(row) | {"salts": ()}


PROBLEMS = st.none() | st.builds(Problem, seq=BIG, code=st.sampled_from(ProblemCode), words=TEXT)
ASCII = st.text("abcdef23_", max_size=9)
RESULTS = st.none() | st.builds(
    Verification,
    origin=TEXT,
    rows=BIG,
    first_seq=st.none(),
    last_seq=st.none(),
    root=st.binary(min_size=32, max_size=32),
    ok=st.booleans(),
    problem=PROBLEMS,
    clock_steps=st.lists(st.builds(ClockStep, seq=BIG, step_us=st.integers(-(2**53), 2**53)), max_size=3).map(tuple),
    clock_steps_total=COUNT,
    warnings=TEXTS,
    covered=BIG,
    checkpoints=BIG,
    pruned=st.lists(st.builds(Pruned, first=BIG, next=BIG, row=BIG, why=TEXT), max_size=3).map(tuple),
    keys=st.lists(st.builds(KeyChange, seq=BIG, key=ASCII, how=ASCII), max_size=3).map(tuple),
    node=ASCII,
    vouched=st.booleans(),
)


@given(st.builds(VerifyProgress, rows=BIG, total=BIG, result=RESULTS))
def test_verify(step: VerifyProgress) -> None:
    wire = pb.VerifyTimelineResponse.FromString(codec_timeline.verify_to_wire(step).SerializeToString())
    view = codec_timeline.verify_from_wire(wire)
    assert (view.rows, view.total, view.result is None) == (step.rows, step.total, step.result is None)
    if view.result is not None and step.result is not None:
        assert view.result == view_verification(step.result)


@given(messages(ANY_TEXT), exchanges(ANY_TEXT), sessions(ANY_TEXT))
def test_no_text_makes_a_record_unreadable(
    message: views.MessageView, exchange: views.ExchangeView, session: views.SessionView
) -> None:
    shown = codec.message_from_wire(codec.message_to_wire(message))
    assert all(
        a == b or (b == "\ufffd" and 0xD800 <= ord(a) <= 0xDFFF) for a, b in zip(message.text, shown.text, strict=True)
    )
    assert codec.exchange_from_wire(codec.exchange_to_wire(exchange)).id == exchange.id
    assert codec.session_from_wire(codec.session_to_wire(session)).id == session.id
