"""The corners of the codec: what is absent, what another version would say, what an address must escape."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from node import codec, codec_timeline
from node.core import views, views_timeline
from node.core.errors import ErrorCode, MeshError
from node.grpc_setup import unix_target
from node.ports import NewSession
from node.ports_timeline import RowFilter
from node.wire.v1 import local_pb2 as pb

SESSION = pb.Session(id="a" * 16, status="running", state="idle")
MESSAGE = pb.Message(id="b" * 16, kind="ask", sender_end="worker", author="session")
EXCHANGE = pb.Exchange(id="c" * 16, kind="request", status="working")


def test_what_is_absent_on_the_wire_is_none_in_views() -> None:
    session = codec.session_from_wire(SESSION)
    assert session.nickname is None
    assert session.label == "a" * 8
    message = codec.message_from_wire(MESSAGE)
    assert message.reply_to is None
    ladder = message.ladder
    assert (ladder.landed_us, ladder.held, ladder.confirmed_us, ladder.read_us) == (None, None, None, None)
    exchange = codec.exchange_from_wire(EXCHANGE)
    assert (exchange.parent, exchange.reason, exchange.opener_session, exchange.worker_session) == (None,) * 4


def test_progress_has_no_result_and_a_result_without_a_problem_is_kept() -> None:
    assert codec_timeline.verify_from_wire(pb.VerifyTimelineResponse(rows=3, total=9)).result is None
    done = codec_timeline.verify_from_wire(pb.VerifyTimelineResponse(rows=9, total=9, done=True, ok=True, root="ab"))
    assert done.result == views_timeline.VerifyResultView(origin="", root="ab", ok=True, problem=None, warnings=())


def test_a_problem_at_the_first_row_is_not_lost() -> None:
    wire = pb.VerifyTimelineResponse(done=True, problem_seq=0, problem_code="edited", problem_words="row 0")
    result = codec_timeline.verify_from_wire(wire).result
    assert result is not None
    assert result.problem is not None
    assert (result.problem.seq, result.problem.code.value) == (0, "edited")


@pytest.mark.parametrize("field", ["status", "state"])
def test_a_session_of_another_version_is_refused_with_what_to_do(field: str) -> None:
    wire = pb.Session()
    wire.CopyFrom(SESSION)
    setattr(wire, field, "hibernating")
    with pytest.raises(MeshError, match=r"'hibernating'.*helio down.*helio up") as refused:
        codec.session_from_wire(wire)
    assert refused.value.code is ErrorCode.UNSUPPORTED


@pytest.mark.parametrize("field", ["kind", "sender_end", "author"])
def test_a_message_of_another_version_is_refused(field: str) -> None:
    wire = pb.Message()
    wire.CopyFrom(MESSAGE)
    setattr(wire, field, "")
    with pytest.raises(MeshError) as refused:
        codec.message_from_wire(wire)
    assert refused.value.code is ErrorCode.UNSUPPORTED


@pytest.mark.parametrize("field", ["kind", "status"])
def test_an_exchange_of_another_version_is_refused(field: str) -> None:
    wire = pb.Exchange()
    wire.CopyFrom(EXCHANGE)
    setattr(wire, field, "x" * 5_000)
    with pytest.raises(MeshError) as refused:
        codec.exchange_from_wire(wire)
    assert refused.value.code is ErrorCode.UNSUPPORTED
    assert len(refused.value.message) < 300


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("/run/node/local.sock", "unix:/run/node/local.sock"),
        ("/home/a b/run/local.sock", "unix:/home/a%20b/run/local.sock"),
        ("/home/50%/#1?/s", "unix:/home/50%25/%231%3F/s"),
        ("/home/zoë/s", "unix:/home/zo%C3%AB/s"),
    ],
)
def test_an_address_is_an_escaped_path(path: str, address: str) -> None:
    assert unix_target(Path(path)) == address


def test_bytes_that_are_no_text_are_refused_not_changed() -> None:
    argument = b"\xff".decode("utf-8", "surrogateescape")
    with pytest.raises(ValueError, match="surrogates"):
        codec.new_session_to_wire(NewSession(argv=("run", argument), cwd="/", env=()))
    with pytest.raises(ValueError, match="surrogates"):
        codec.new_session_to_wire(NewSession(argv=("run",), cwd="/", env=(("NAME", argument),)))


def test_numbers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="range"):
        codec_timeline.row_filter_to_wire(RowFilter(from_seq=-1), follow=False)


def test_every_view_is_frozen_and_slotted() -> None:
    shown = [
        kind
        for kind in {**vars(views), **vars(views_timeline)}.values()
        if isinstance(kind, type) and kind.__name__.endswith("View")
    ]
    assert len(shown) >= 15
    for kind in shown:
        assert is_dataclass(kind)
        assert kind.__dataclass_params__.frozen, kind
        assert "__slots__" in vars(kind), kind
        assert all(field.kw_only for field in fields(kind)), kind
