"""`helio timeline export` against a twin of the node: files, receivers on real sockets, refusals, and what is said."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import ssl
import sys
import time

import pyarrow.parquet as pq
import pytest
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as service

from node.core import merkle
from node.core.errors import ErrorCode, MeshError
from node.core.timeline import Party, Scan
from node.wire.v1 import local_pb2 as pb
from tests.export_receivers import Answer, TestAuthority, otlp_receiver, server_context, syslog_receiver
from tests.export_rows import HOSTILE
from tests.ocsf_schema import faults
from tests.property.test_export import parsed, unframed
from tests.unit.cli.twin_export import EXPORT_ID
from tests.unit.cli.twin_node import MESSAGE_ID, REQUEST_ID, session

# What the wire can hold of them: it has no halves of characters.
TEXTS = [text.encode("utf-8", "replace").decode() for text in HOSTILE]


@pytest.fixture(autouse=True)
def _utc(home):
    time.tzset()


@pytest.fixture
def rows(node):
    """A row for each hostile text, one of them withheld."""
    for number, text in enumerate(TEXTS):
        node.timeline.add(
            "withheld" if number == 3 else "relayed",
            conv=REQUEST_ID, msg=MESSAGE_ID, kind="request", src=Party(session="s" * 16, agent="claude"),
            scan=Scan(engine="rules", version="1", status="clean"),
            side={"title": text, "sender": text, "words": text},
        )  # fmt: skip
    return node.timeline


@pytest.fixture
def authority(tmp_path):
    return TestAuthority(tmp_path)


def export(helio, *words: str):
    return helio("timeline", "export", *words)


def steps(node) -> list[str]:
    return [call.step for call in node.asked if isinstance(call, pb.RecordExportRequest)]


def lines(data: bytes) -> list[dict]:
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def test_jsonl_in_a_file_with_its_manifest(helio, node, rows, tmp_path):
    result = export(helio, "--format", "jsonl", "-o", str(tmp_path / "rows.jsonl"))
    data = (tmp_path / "rows.jsonl").read_bytes()
    told = json.loads((tmp_path / "rows.jsonl.manifest.json").read_text())
    count = len(TEXTS)
    assert result.exit_code == 0
    assert result.stdout == (
        f"Exported {count} rows (#0 to #{count - 1}) as jsonl to {tmp_path}/rows.jsonl, {len(data) / 1024:.1f} KiB.\n"
        f"  manifest  {tmp_path}/rows.jsonl.manifest.json\n  sha256    {hashlib.sha256(data).hexdigest()}\n"
    )
    found = lines(data)
    assert [row["side"].get("title") for row in found] == TEXTS
    for row, stored in zip(found, rows.stored, strict=False):
        assert json.dumps(row["row"], sort_keys=True, separators=(",", ":")).encode() == stored.data
    assert (told["format"], told["export"], told["export_row"], told["file"]) == (
        "jsonl", EXPORT_ID, count, "rows.jsonl",
    )  # fmt: skip
    assert told["log"]["checkpoint"] is None
    assert told["last_row_proven"] is True
    assert steps(node) == ["begun", "finished"]
    ended = node.last(pb.RecordExportRequest)
    assert (ended.export, ended.count, ended.next, ended.bytes, ended.sha256) == (
        EXPORT_ID, count, count, len(data), told["sha256"],
    )  # fmt: skip


def test_csv_comes_back_and_is_safe(helio, rows, tmp_path):
    assert export(helio, "--format", "csv", "--bom", "-o", str(tmp_path / "x.csv")).exit_code == 0
    data = (tmp_path / "x.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    records = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    assert len(records) == data.count(b"\n") - 1 == data.decode("utf-8-sig").count("\r\n") - 1 == len(TEXTS)
    assert [json.loads(record["side"]).get("title") for record in records] == TEXTS
    assert [record["entry"].encode() for record in records] == [row.data for row in rows.stored[: len(TEXTS)]]


def test_ocsf_on_standard_output_is_valid_and_words_go_elsewhere(helio, node, rows):
    result = export(helio, "--format", "ocsf", "-o", "-", "--json")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(events) == len(TEXTS) + 1
    assert [faults(event) for event in events] == [[]] * len(events)
    told = json.loads(result.stderr)
    assert (told["destination"], told["manifest_file"], told["options"]) == (
        "standard output",
        None,
        {"version": "1.9"},
    )
    assert told["sha256"] == hashlib.sha256(result.stdout_bytes).hexdigest()
    older = export(helio, "--format", "ocsf", "--ocsf-version", "1.8", "-o", "-")
    assert {json.loads(line)["metadata"]["version"] for line in older.stdout.splitlines()} == {"1.8.0"}


def test_parquet_has_typed_columns_and_every_byte(helio, rows, tmp_path):
    assert export(helio, "--format", "parquet", "-o", str(tmp_path / "x.parquet")).exit_code == 0
    table = pq.read_table(tmp_path / "x.parquet")
    assert table.column("entry").to_pylist() == [row.data for row in rows.stored[: len(TEXTS)]]
    assert table.column("leaf").to_pylist() == [row.leaf for row in rows.stored[: len(TEXTS)]]
    assert table.column("title").to_pylist() == TEXTS
    assert [json.loads(side).get("words") for side in table.column("side").to_pylist()] == TEXTS
    assert str(table.schema.field("time").type) == "timestamp[us, tz=UTC]"
    assert (str(table.schema.field("seq").type), str(table.schema.field("scan_score").type)) == ("int64", "int64")
    assert table.column("decision").to_pylist()[3] == "withheld"
    told = json.loads((tmp_path / "x.parquet.manifest.json").read_text())
    assert told["sha256"] == hashlib.sha256((tmp_path / "x.parquet").read_bytes()).hexdigest()


def test_filters_and_the_log_reach_the_node_and_the_manifest(helio, node, rows, tmp_path):
    node.sessions = [session()]
    export(
        helio, "--format", "jsonl", "-o", str(tmp_path / "x"), "--engine", "agent.request", "--decision", "withheld",
        "--session", "@Payments", "--exchange", "RQQQQQQQ", "--text", "port", "--from-seq", "3", "--before", "20",
        "-n", "5", "--log", "local/twin/1",
    )  # fmt: skip
    asked = node.last(pb.ReadTimelineRequest)
    assert asked == pb.ReadTimelineRequest(
        from_seq=3, before_seq=20, limit=5, engine="agent.request", decision="withheld", session="sssssssssssssss2",
        exchange="rqqqqqqq", text="port", log="local/twin/1", batches=True, salts=True,
    )  # fmt: skip
    told = json.loads((tmp_path / "x.manifest.json").read_text())
    assert told["filter"] == {
        "log": "local/twin/1", "from_seq": 3, "before_seq": 20, "limit": 5, "engine": "agent.request",
        "decision": "withheld", "session": "sssssssssssssss2", "exchange": "rqqqqqqq", "text": "port",
    }  # fmt: skip
    assert told["range"]["contiguous"] is None
    assert "decision=withheld" in node.last(pb.RecordExportRequest).filter


def test_the_last_rows_are_those_before_the_export_began(helio, node, rows, tmp_path):
    export(helio, "--format", "jsonl", "-o", str(tmp_path / "x"), "-n", "3")
    asked = node.last(pb.ReadTimelineRequest)
    assert (asked.limit, asked.tail, asked.before_seq) == (3, True, len(TEXTS))


def test_of_an_empty_log_nothing_is_exported(helio, node, tmp_path):
    result = export(helio, "--format", "csv", "-o", str(tmp_path / "x"))
    assert "Exported 0 rows as csv" in result.stdout
    told = json.loads((tmp_path / "x.manifest.json").read_text())
    assert (told["count"], told["range"]["first"], told["last_row_proof"]) == (0, None, None)


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
    result = export(helio, "--format", "syslog", "--to", f"localhost:{receiver.port}", "--ca", str(authority.path))
    assert result.exit_code == 16
    assert "No syslog receiver with TLS answers" in result.stderr


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


@pytest.mark.parametrize("status", [400, 401, 404, 413, 302])
def test_a_refused_batch_is_not_sent_again(helio, node, rows, status):
    with otlp_receiver() as receiver:
        receiver.answers.append(Answer(status=status, body=b"no such tenant", headers={"Location": "http://evil/"}))
        result = export(helio, "--format", "otlp", "--endpoint", f"http://localhost:{receiver.port}")
    assert result.exit_code == 16
    assert f"HTTP status {status} (no such tenant)" in result.stderr
    assert len(receiver.bodies) == 1


def test_otlp_over_tls_checks_the_receiver(helio, rows, authority, tmp_path):
    with otlp_receiver(server_context(authority.issue("localhost"))) as receiver:
        url = f"https://localhost:{receiver.port}"
        assert export(helio, "--format", "otlp", "--endpoint", url, "--ca", str(authority.path)).exit_code == 0
        other = TestAuthority(tmp_path, "other")
        refused = export(helio, "--format", "otlp", "--endpoint", url, "--ca", str(other.path))
    assert refused.exit_code == 13
    assert len(receiver.bodies) == 1


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--format", "csv"], "needs -o FILE"),
        (["--format", "syslog", "-o", "x"], "needs --to HOST:PORT"),
        (["--format", "otlp", "--to", "a:1"], "needs --endpoint URL"),
        (["--format", "csv", "-o", "x", "--to", "a:1"], "not to --to"),
        (["--format", "jsonl", "-o", "x", "--bom"], "--bom has no meaning"),
        (["--format", "ocsf", "-o", "x", "--ca", "y"], "--ca has no meaning"),
        (["--format", "parquet", "-o", "-"], "standard output"),
        (["--format", "syslog", "--to", "host:port"], "is no receiver"),
        (["--format", "syslog", "--to", "host:70000"], "is no receiver"),
        (["--format", "syslog", "--to", ":1"], "is no receiver"),
        (["--format", "syslog", "--to", "a", "--ca", "/nonexistent"], "cannot be used for TLS"),
        (["--format", "otlp", "--endpoint", "otel.example.org:4318"], "is no endpoint"),
        (["--format", "otlp", "--endpoint", "https://u:p@otel.example.org"], "--header-file"),
        (["--format", "otlp", "--endpoint", "http://otel.example.org"], "in clear"),
        (["--format", "otlp", "--endpoint", "https://a", "--header-file", "/nonexistent"], "cannot be read"),
        (["--format", "xml", "-o", "x"], "is not one of"),
    ],
)
def test_words_that_do_not_go_together_are_refused_before_anything_happens(helio, node, rows, words, said):
    result = export(helio, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    if "TLS" not in said and "clear" not in said:
        assert "p@otel" not in result.stderr
    assert steps(node) == []


def test_a_header_that_would_be_two_is_refused(helio, node, tmp_path):
    (tmp_path / "headers").write_bytes(b"Authorization: a\nno header\n")
    result = export(helio, "--format", "otlp", "--endpoint", "https://a", "--header-file", str(tmp_path / "headers"))
    assert result.exit_code == 2
    assert "Line 2" in result.stderr


@pytest.mark.parametrize(
    ("form", "module", "words"),
    [
        ("parquet", "pyarrow", ["-o", "x.parquet"]),
        ("otlp", "opentelemetry.proto.collector.logs.v1", ["--endpoint", "https://a"]),
    ],
)
def test_a_missing_extra_is_named(helio, node, monkeypatch, form, module, words):
    for known in [name for name in sys.modules if name.startswith((module, "node.export_"))]:
        monkeypatch.delitem(sys.modules, known)
    monkeypatch.setitem(sys.modules, module, None)
    result = export(helio, "--format", form, *words)
    assert result.exit_code == 19
    assert f"pip install 'heliograph[{form}]'" in result.stderr
    assert steps(node) == []


def test_a_taken_name_is_refused_and_force_takes_it(helio, node, rows, tmp_path):
    (tmp_path / "x").write_text("mine")
    result = export(helio, "--format", "jsonl", "-o", str(tmp_path / "x"), "--json")
    assert result.exit_code == 6
    told = json.loads(result.stderr)["error"]
    assert (told["code"], told["details"]["export"]) == ("already_exists", EXPORT_ID)
    assert (tmp_path / "x").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x"]
    assert export(helio, "--format", "jsonl", "-o", str(tmp_path / "x"), "--force").exit_code == 0
    assert (tmp_path / "x").read_bytes().startswith(b'{"seq":0,')


def test_an_export_that_cannot_be_noted_does_not_begin(helio, node, rows, tmp_path):
    node.refusal = MeshError(ErrorCode.AUDIT_UNAVAILABLE, "The timeline cannot be written.")
    assert export(helio, "--format", "jsonl", "-o", str(tmp_path / "x")).exit_code == 14
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_with_the_rows_is_said_and_they_are_exported_all_the_same(helio, node, rows, tmp_path):
    node.timeline.stored[2].data = b"\xff"
    del node.timeline.stored[5]
    result = export(helio, "--format", "jsonl", "-o", str(tmp_path / "x"))
    assert "1 row of these are not what their hashes stand for" in result.stderr
    assert "rows are missing" in result.stderr
    assert "no longer has what proves" in result.stderr
    assert lines((tmp_path / "x").read_bytes())[2]["damaged"] == "ff"
    told = json.loads((tmp_path / "x.manifest.json").read_text())
    assert (told["damaged"], told["range"]["contiguous"]) == (1, False)


def test_the_last_row_of_a_changed_log_makes_it_end_as_tampered(helio, node, rows, tmp_path):
    last = node.timeline.stored[-1]
    last.data = last.data.replace(b"relayed", b"refused")
    last.leaf = merkle.leaf_hash(last.data)
    result = export(helio, "--format", "jsonl", "-o", str(tmp_path / "x"), "--exchange", REQUEST_ID)
    assert result.exit_code == 18
    assert (tmp_path / "x").exists()
    assert node.last(pb.RecordExportRequest).reason == "tampered"


def test_formats_are_completed(helio):
    env = {"_HELIO_COMPLETE": "bash_complete", "COMP_WORDS": "helio timeline export --format ", "COMP_CWORD": "4"}
    shown = helio(env=env).stdout
    assert shown.split() == [f"plain,{form}" for form in ("jsonl", "csv", "ocsf", "syslog", "otlp", "parquet")]
