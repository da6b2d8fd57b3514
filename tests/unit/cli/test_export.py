"""`helio timeline export` into files against a twin of the node: what they hold, what is refused, what is said."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from node.core import merkle
from node.core.errors import ErrorCode, MeshError
from node.wire.v1 import local_pb2 as pb
from tests.ocsf_schema import faults
from tests.unit.cli.twin_export import EXPORT_ID, TEXTS, export, filled, steps
from tests.unit.cli.twin_node import REQUEST_ID, session


@pytest.fixture(autouse=True)
def _utc(home):
    time.tzset()


@pytest.fixture
def rows(node):
    return filled(node)


def lines(data: bytes) -> list[dict]:
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def test_jsonl_in_a_file_with_its_manifest(helio, node, rows, tmp_path):
    result = export(helio, "--format", "jsonl", "-o", str(tmp_path / "rows.jsonl"))
    data = (tmp_path / "rows.jsonl").read_bytes()
    told = json.loads((tmp_path / "rows.jsonl.manifest.json").read_text())
    count = len(TEXTS)
    assert result.exit_code == 0
    assert result.stdout == (
        f"Exported {count} rows (#0 to #{count - 1}) as jsonl to {tmp_path}/rows.jsonl, {len(data) / 1000:.1f} KB.\n"
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
        (["--format", "csv", "-o", "x", "--manifest", "./x"], "the same name"),
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
    ("form", "library", "words"),
    [("parquet", "pyarrow", ["-o", "x.parquet"]), ("otlp", "opentelemetry", ["--endpoint", "https://a"])],
)
def test_a_missing_extra_is_named(node, tmp_path, form, library, words):
    # What stands first on the path is as good as not installed.
    (tmp_path / f"{library}.py").write_text(f"raise ModuleNotFoundError('none here', name={library!r})\n")
    path = f"{tmp_path}{os.pathsep}{Path.cwd()}"
    found = subprocess.run(
        [sys.executable, "-m", "node", "timeline", "export", "--format", form, *words],
        env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 19, found.stderr
    assert f"needs {library}, which is not installed here" in found.stderr
    assert f"pip install 'heliograph[{form}]'" in found.stderr
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
