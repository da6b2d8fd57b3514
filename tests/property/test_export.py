"""Whatever stands in a row or beside it: every export holds it whole, on lines of its own, and nothing of it acts."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import unicodedata

from hypothesis import example, given, settings
from hypothesis import strategies as st

from node.core import canonical, export_csv, export_ocsf
from node.core.export_otlp import log_record
from node.core.export_record import COLUMNS, Record, line_of
from node.core.export_record import TEXTS as TEXT_COLUMNS
from node.core.export_syslog import MESSAGE_BYTES, Header, frames
from tests.export_rows import HOSTILE, LOG, MESSAGE, SIDES, TEXTS, WITHHELD, damaged, record, utc
from tests.property.test_timeline import ROWS

HEADER = Header(hostname="mac.example.org", version="1")
RECORDS = st.one_of(
    st.builds(lambda row, side, ts: record(row, side=side, ts_us=ts), ROWS, SIDES, st.integers(0, 2**53 - 1)),
    st.builds(lambda row, side: record(row, side=side), st.sampled_from([MESSAGE, WITHHELD]), SIDES),
    st.builds(damaged, st.binary(max_size=300), SIDES),
)
EVERYTHING = {f"t{number}": text for number, text in enumerate(HOSTILE)}


def shows_nothing_hidden(text: str) -> bool:
    return all(unicodedata.category(ch) not in {"Cc", "Cf", "Zl", "Zp", "Cs"} for ch in text)


@settings(deadline=None, max_examples=500)
@given(TEXTS)
def test_a_cell_is_no_formula_and_shows_all_and_gives_its_text_back(text: str) -> None:
    cell, was_guarded = export_csv.guarded(text)
    assert export_csv.original(cell, was_guarded=was_guarded) == text
    assert unicodedata.normalize("NFKC", cell).lstrip()[:1] not in {*"=+-@"}
    assert shows_nothing_hidden(cell)


@settings(deadline=None)
@given(row=RECORDS, bom=st.booleans())
@example(row=record(MESSAGE, side=EVERYTHING), bom=True)
def test_a_csv_record_comes_back_as_it_was_on_the_python_that_runs(*, row: Record, bom: bool) -> None:
    data = export_csv.header(bom=bom) + export_csv.line(row, utc)
    assert data.startswith(b"\xef\xbb\xbf") is bom
    assert data.count(b"\n") == data.count(b"\r\n") == 2
    assert len(data.decode("utf-8").splitlines()) == 2
    names, cells = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
    assert tuple(names) == export_csv.HEADER
    shown = dict(zip(names, cells, strict=True))
    flagged = set(shown["guarded"].split())
    for name, cell in shown.items():
        assert cell[:1] not in {*"=+@"}, name
        assert shows_nothing_hidden(cell)
    for name in TEXT_COLUMNS:
        assert export_csv.original(shown[name], was_guarded=name in flagged) == row.side.get(name, "")
    for column in COLUMNS:
        value = row.value(column)
        if isinstance(value, str):
            assert export_csv.original(shown[column.name], was_guarded=column.name in flagged) == value
    assert json.loads(shown["side"]) == joined(dict(row.side))
    if row.fields is None:
        assert bytes.fromhex(shown["damaged"]) == row.data
    else:
        assert shown["entry"].encode() == row.data
    # Every field is in quotes: a quote follows each comma that parts two of them, and ends each record.
    assert re.fullmatch(rb'(\xef\xbb\xbf)?("(?:[^"]|"")*"(,|\r\n))+', data)


@settings(deadline=None)
@given(RECORDS)
@example(record(MESSAGE, side=EVERYTHING))
@example(record(MESSAGE, side={"snippet": "\u2028" * 100_000}))
def test_a_line_of_json_holds_the_bytes_that_were_hashed(row: Record) -> None:
    data = line_of(row)
    assert data.isascii()
    assert data.decode().splitlines(keepends=True) == [data.decode()]
    told = json.loads(data)
    if row.fields is None:
        assert bytes.fromhex(told["damaged"]) == row.data
    else:
        again = canonical.dump(told["row"])
        assert again == row.data
        assert hashlib.sha256(b"\0" + again).hexdigest() == told["leaf"] == row.leaf.hex()
    assert told["side"] == joined(dict(row.side))


@settings(deadline=None)
@given(RECORDS, st.integers(1, 2**40))
@example(record(MESSAGE, side=EVERYTHING), 1)
@example(record(MESSAGE, side={"snippet": "\U0001f600" * 2000, "preview": "\x00" * 200}), 2**31 - 1)
@example(damaged(b"\xff" * 60_000), 1)
def test_syslog_messages_are_whole_frames_whose_texts_are_the_line(row: Record, first: int) -> None:
    messages = [parsed(message) for message in unframed(b"".join(frames(row, HEADER, first)))]
    assert b"".join(text for _, text in messages) + b"\n" == line_of(row)
    for number, (data, _) in enumerate(messages):
        ours = data["heliograph@32473"]
        assert data["meta"]["sequenceId"] == str((first + number - 1) % (2**31 - 1) + 1)
        assert (ours["log"], ours["seq"], ours["leaf"]) == (LOG, str(row.seq), row.leaf.hex())
        if len(messages) > 1:
            assert (ours["part"], ours["parts"]) == (str(number + 1), str(len(messages)))
        else:
            assert "part" not in ours


@settings(deadline=None)
@given(RECORDS, st.sampled_from(export_ocsf.Version))
@example(record(WITHHELD, side=EVERYTHING), export_ocsf.Version.V1_9)
def test_ocsf_events_hold_the_row_and_seal_themselves(row: Record, version: export_ocsf.Version) -> None:
    data, _ = export_ocsf.events(row, utc, version=version)
    assert data.isascii()
    lines = data.decode().splitlines()
    assert len(lines) == (2 if row.text("decision") == "withheld" else 1)
    event = json.loads(lines[0])
    assert event["raw_data"].encode() == (row.data.hex().encode() if row.fields is None else row.data)
    for line in lines:
        event = json.loads(line)
        if version is export_ocsf.Version.V1_8:
            assert "attestation" not in event
            continue
        told = event["attestation"].pop("fingerprint")["value"]
        again = json.dumps(event, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(again.encode("utf-8", "surrogatepass")).hexdigest() == told


@settings(deadline=None)
@given(RECORDS)
@example(record(MESSAGE, side=EVERYTHING))
def test_a_log_record_can_be_sent_and_holds_the_line(row: Record) -> None:
    told = log_record(row)
    assert told.body.encode() + b"\n" == line_of(row)
    named = dict(told.attributes)
    assert len(named) == len(told.attributes)
    assert named["log.record.uid"] == f"{LOG}#{row.seq}"
    for name, value in named.items():
        name.encode()
        str(value).encode()


# --- readers of our own, as strict as the standards ------------------------------------------------------------------

_HEADER = re.compile(
    rb"<(\d{1,3})>1 (-|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) ([!-~]{1,255}) ([!-~]{1,48}) - ([!-~]{1,32}) "
)
_NAME = rb"[!#-<>-\\^-~]{1,32}"
_PARAMETER = re.compile(rb' (%b)="((?:[^"\\\]]|\\["\\\]]|\\(?!["\\\]]))*)"' % _NAME)
_ELEMENT = re.compile(rb'\[(%b)((?: %b="(?:[^"\\\]]|\\.)*")*)\]' % (_NAME, _NAME), re.DOTALL)


def unframed(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        blank = data.index(b" ", at)
        digits = data[at:blank]
        assert re.fullmatch(rb"[1-9][0-9]{0,8}", digits)
        size = int(digits)
        assert size <= MESSAGE_BYTES
        found.append(data[blank + 1 : blank + 1 + size])
        assert len(found[-1]) == size
        at = blank + 1 + size
    return found


def parsed(message: bytes) -> tuple[dict[str, dict[str, str]], bytes]:
    head = _HEADER.match(message)
    assert head, message[:200]
    assert head[1] in {b"108", b"110"}
    at, data = head.end(), {}
    while message[at : at + 1] == b"[":
        element = _ELEMENT.match(message, at)
        assert element, message[at : at + 200]
        assert element[1].decode() not in data
        values = _PARAMETER.findall(element[2])
        data[element[1].decode()] = {
            name.decode(): re.sub(r'\\(["\\\]])', r"\1", value.decode("utf-8")) for name, value in values
        }
        assert all(shows_nothing_hidden(value) for value in data[element[1].decode()].values())
        at = element.end()
    assert message[at : at + 1] == b" "
    return data, message[at + 1 :]


def joined(side: dict[str, str]) -> dict[str, str]:
    """Surrogate halves that stand side by side as one character, as any JSON reader gives them."""
    return {
        name: text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        for name, text in side.items()
    }
