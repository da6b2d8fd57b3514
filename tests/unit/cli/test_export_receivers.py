"""`helio timeline export` to receivers on real sockets: syslog over TLS, and OTLP."""

from __future__ import annotations

import asyncio
import hashlib
import json
import ssl
import threading
import time
from collections.abc import Callable

import pytest
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as service

from node.export_otlp import OtlpSink, endpoint_of
from node.wire.v1 import local_pb2 as pb
from tests.export_receivers import DEADLINE_S, Answer, TestAuthority, otlp_receiver, server_context, syslog_receiver
from tests.export_rows import MESSAGE, record
from tests.property.test_export import parsed, unframed
from tests.unit.cli.twin_export import TEXTS, export, filled, steps
from tests.waiting import until


@pytest.fixture(autouse=True)
def _utc(home):
    time.tzset()


@pytest.fixture
def rows(node):
    return filled(node)


@pytest.fixture
def authority(tmp_path):
    return TestAuthority(tmp_path)


# --- syslog over TLS --------------------------------------------------------------------------------------------------


def test_syslog_hands_over_every_row_in_order(helio, node, rows, authority, tmp_path):
    node.timeline.add("relayed", side={"snippet": "\U0001f600" * 2_000})
    with syslog_receiver(server_context(authority.issue("localhost"))) as receiver:
        result = export(
            helio, "--format", "syslog", "--to", f"localhost:{receiver.port}", "--ca", str(authority.path),
            "--enterprise", "64512", "--manifest", str(tmp_path / "m.json"),
        )  # fmt: skip
        data = receiver.all()
    assert result.exit_code == 0, result.stderr
    assert "Syslog confirms nothing" in result.stdout
    assert receiver.version in {"TLSv1.2", "TLSv1.3"}
    assert receiver.ended_in_order
    messages = [parsed(message) for message in unframed(data)]
    assert [int(told["meta"]["sequenceId"]) for told, _ in messages] == list(range(1, len(messages) + 1))
    by_row: dict[int, bytes] = {}
    for told, text in messages:
        seq = int(told["heliograph@64512"]["seq"])
        by_row[seq] = by_row.get(seq, b"") + text
    assert len(by_row) == len(TEXTS) + 1
    assert len(messages) > len(by_row)
    assert [json.loads(text)["side"].get("title") for text in by_row.values()][: len(TEXTS)] == TEXTS
    manifest = json.loads((tmp_path / "m.json").read_text())
    assert manifest["sha256"] == hashlib.sha256(data).hexdigest()
    assert manifest["file"] is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
@pytest.mark.parametrize(("issued_for", "trusted"), [("elsewhere.example", "authority"), ("localhost", "other")])
def test_syslog_goes_to_no_receiver_that_does_not_prove_its_name(
    helio, node, rows, authority, tmp_path, host, issued_for, trusted
):
    TestAuthority(tmp_path, "other")
    with syslog_receiver(server_context(authority.issue(issued_for))) as receiver:
        result = export(
            helio, "--format", "syslog", "--to", f"{host}:{receiver.port}", "--ca", str(tmp_path / f"{trusted}.pem")
        )  # fmt: skip
    assert result.exit_code == 13, result.stderr
    assert f"did not prove that it is {host}" in result.stderr
    assert bytes(receiver.data) == b""
    assert steps(node) == ["begun", "failed"]
    assert node.last(pb.RecordExportRequest).reason == "unauthenticated"


def test_syslog_shows_its_own_certificate_where_one_is_asked_for(helio, rows, authority):
    context = server_context(authority.issue("localhost"), clients=authority.path)
    with syslog_receiver(context) as receiver:
        result = export(
            helio, "--format", "syslog", "--to", f"localhost:{receiver.port}", "--ca", str(authority.path),
            "--cert", str(authority.issue("mac.example")),
        )  # fmt: skip
        receiver.all()
    assert result.exit_code == 0, result.stderr
    assert dict(receiver.caller["subject"][0])["commonName"] == "mac.example"


def test_old_tls_is_refused(helio, rows, authority):
    context = server_context(authority.issue("localhost"))
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with syslog_receiver(context) as receiver:
        result = export(helio, "--format", "syslog", "--to", f"localhost:{receiver.port}", "--ca", str(authority.path))
    assert result.exit_code == 16
    assert bytes(receiver.data) == b""


def test_a_receiver_that_hangs_up_is_said_with_how_many_may_have_arrived(helio, node, authority):
    for _ in range(4_000):
        node.timeline.add("relayed", side={"preview": "x" * 200})
    with syslog_receiver(server_context(authority.issue("localhost")), at_most=100_000) as receiver:
        result = export(helio, "--format", "syslog", "--to", f"localhost:{receiver.port}", "--ca", str(authority.path))
    assert result.exit_code == 16
    assert "Syslog confirms nothing" in result.stderr
    assert "--from-seq" in result.stderr
    assert steps(node) == ["begun", "failed"]
    assert node.last(pb.RecordExportRequest).reason == "unavailable"


def test_nobody_at_the_port_is_said(helio, node, rows, authority):
    with syslog_receiver(server_context(authority.issue("localhost"))) as receiver:
        pass
    for host in ("localhost", "[::1]"):
        to = f"{host}:{receiver.port}"
        result = export(helio, "--format", "syslog", "--to", to, "--ca", str(authority.path))
        assert result.exit_code == 16
        assert f"No syslog receiver with TLS answers at {to} (" in result.stderr


# --- OTLP -------------------------------------------------------------------------------------------------------------


def test_otlp_hands_over_batches_that_are_confirmed(helio, node, rows, tmp_path):
    for _ in range(700):
        node.timeline.add("relayed")
    (tmp_path / "headers").write_text("Authorization: Bearer abc\nX-Scope: a\n")
    with otlp_receiver() as receiver:
        result = export(
            helio, "--format", "otlp", "--endpoint", f"http://127.0.0.1:{receiver.port}?key=hush", "--header-file",
            str(tmp_path / "headers"), "--manifest", str(tmp_path / "m.json"),
        )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    records = [one for batch in receiver.batches for one in batch.resource_logs[0].scope_logs[0].log_records]
    assert len(receiver.batches) == 2
    assert len(records) == len(TEXTS) + 700
    path, headers = receiver.asked[0]
    assert (path, headers["authorization"], headers["content-type"]) == (
        "/v1/logs?key=hush", "Bearer abc", "application/x-protobuf",
    )  # fmt: skip
    named = [{one.key: one.value for one in record.attributes} for record in records]
    assert [told["heliograph.text.title"].string_value for told in named[: len(TEXTS)]] == TEXTS
    assert named[0]["log.record.uid"].string_value == "local/twin/1#0"
    assert named[0]["gen_ai.agent.id"].string_value == "s" * 16
    assert named[0]["heliograph.seq"].int_value == 0
    assert records[0].time_unix_nano == json.loads(records[0].body.string_value)["row"]["ts"] * 1000
    assert records[3].severity_text == "WARN"
    assert json.loads((tmp_path / "m.json").read_text())["sha256"] == (
        hashlib.sha256(b"".join(receiver.bodies)).hexdigest()
    )
    begun = node.last(pb.RecordExportRequest)
    for secret in ("Bearer", "hush"):
        assert secret not in (tmp_path / "m.json").read_text() + result.output + str(begun)


def partial(refused: int, words: str = "") -> Answer:
    told = service.ExportLogsServiceResponse()
    told.partial_success.rejected_log_records = refused
    told.partial_success.error_message = words
    return Answer(body=told.SerializeToString())


def test_a_partial_success_is_an_error_that_says_how_many_were_refused(helio, node, rows):
    for _ in range(1_200):
        node.timeline.add("relayed")
    with otlp_receiver() as receiver:
        receiver.answers.extend([Answer(), partial(3, "too old\x1b[2J")])
        result = export(helio, "--format", "otlp", "--endpoint", f"http://localhost:{receiver.port}/v1/logs")
    assert result.exit_code == 16
    assert "refused 3 of 500 log records: too old\\x1b[2J. 500 were accepted before" in result.stderr
    assert len(receiver.batches) == 2
    assert steps(node) == ["begun", "failed"]


def test_a_word_of_a_receiver_that_refused_nothing_is_passed_on(helio, rows):
    with otlp_receiver() as receiver:
        receiver.answers.append(partial(0, "field x is deprecated"))
        result = export(helio, "--format", "otlp", "--endpoint", f"http://localhost:{receiver.port}")
    assert result.exit_code == 0
    assert "field x is deprecated" in result.stderr


def test_a_batch_is_sent_again_while_the_receiver_is_busy_or_its_answer_is_lost(helio, rows):
    with otlp_receiver() as receiver:
        receiver.answers.extend([Answer(status=503, headers={"Retry-After": "0"}), Answer(lost=True), Answer()])
        result = export(helio, "--format", "otlp", "--endpoint", f"http://localhost:{receiver.port}")
    assert result.exit_code == 0, result.stderr
    assert len(receiver.bodies) == 3
    assert len(set(receiver.bodies)) == 1


@pytest.mark.parametrize(
    ("headers", "tries", "said"), [({"Retry-After": "0"}, 5, "for 0 s"), ({"Retry-After": "3600"}, 1, "for 3600 s")]
)
def test_a_receiver_that_stays_busy_is_left_alone(helio, node, rows, headers, tries, said):
    with otlp_receiver() as receiver:
        receiver.answers.extend([Answer(status=429, headers=headers)] * 9)
        result = export(helio, "--format", "otlp", "--endpoint", f"http://localhost:{receiver.port}")
    assert result.exit_code == 16
    assert f"HTTP status 429, asks to be left alone {said}" in result.stderr
    assert len(receiver.bodies) == tries
    assert steps(node) == ["begun", "failed"]


@pytest.mark.parametrize("status", [400, 401, 404, 413, 302])
def test_a_refused_batch_is_not_sent_again(helio, node, rows, status):
    with otlp_receiver() as receiver:
        receiver.answers.append(Answer(status=status, body=b"no such tenant", headers={"Location": "http://evil/"}))
        result = export(helio, "--format", "otlp", "--endpoint", f"http://localhost:{receiver.port}")
    assert result.exit_code == 16
    assert f"HTTP status {status} (no such tenant)" in result.stderr
    assert len(receiver.bodies) == 1


def test_giving_up_does_not_wait_for_a_receiver_that_says_nothing():
    async def play(port: int, came: Callable[[], bool]) -> None:
        sink = OtlpSink(endpoint_of(f"http://127.0.0.1:{port}", ssl.create_default_context()), (), "1", None)
        await sink.add(record(MESSAGE))
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(sink.finish())
            await until(came, "the batch")
            sending.cancel()
        await sink.abandon()

    held = Answer(hold=threading.Event(), lost=True)
    with otlp_receiver() as receiver:
        receiver.answers.append(held)
        begun = time.monotonic()
        # Ends when the thread that waits has ended, too.
        asyncio.run(play(receiver.port, lambda: bool(receiver.asked)))
        assert time.monotonic() - begun < DEADLINE_S / 2
        held.hold.set()


def test_otlp_over_tls_checks_the_receiver(helio, rows, authority, tmp_path):
    with otlp_receiver(server_context(authority.issue("localhost"))) as receiver:
        url = f"https://localhost:{receiver.port}"
        assert export(helio, "--format", "otlp", "--endpoint", url, "--ca", str(authority.path)).exit_code == 0
        other = TestAuthority(tmp_path, "other")
        refused = export(helio, "--format", "otlp", "--endpoint", url, "--ca", str(other.path))
    assert refused.exit_code == 13
    assert len(receiver.bodies) == 1
