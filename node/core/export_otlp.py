"""The timeline as OpenTelemetry log records: what each says, before anything is made a message of that protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from node.core.export_record import COLUMNS, Record, line_of
from node.core.text import well_formed

Attribute: TypeAlias = "tuple[str, str | int | bool]"

SCOPE: Final = "heliograph.timeline"
_INFO, _WARN = (9, "INFO"), (13, "WARN")

# Conventions of others for what a row has, so far as they are settled. How an agent that is written to is named is not
# (open-telemetry/semantic-conventions-genai), so that stays in our own namespace.
_CONVENTIONS: Final = (
    ("gen_ai.agent.id", ("from", "session")),
    ("gen_ai.agent.name", ("from", "agent")),
    ("gen_ai.conversation.id", ("conv",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """One log record; `log.record.uid` among its attributes lets a receiver drop what it gets twice."""

    time_ns: int
    severity: int
    severity_text: str
    event_name: str
    body: str
    attributes: tuple[Attribute, ...]


def log_record(record: Record) -> LogRecord:
    """The row as a log record, whose body is the line of JSON with the row's exact bytes."""
    severity, words = _WARN if record.alarming else _INFO
    return LogRecord(
        time_ns=(record.ts_us or 0) * 1000,
        severity=severity,
        severity_text=words,
        event_name=f"heliograph.{record.text('row') or 'damaged'}",
        body=line_of(record).decode("ascii").rstrip("\n"),
        attributes=tuple(_attributes(record)),
    )


def _attributes(record: Record) -> Iterator[Attribute]:
    yield "log.record.uid", record.uid
    for name, path in _CONVENTIONS:
        if (text := record.text(*path)) is not None:
            yield name, text
    yield "heliograph.log", record.log
    yield "heliograph.seq", record.seq
    yield "heliograph.leaf", record.leaf.hex()
    for column in COLUMNS:
        if (value := record.value(column)) is not None:
            yield f"heliograph.{column.name}", well_formed(value) if isinstance(value, str) else value
    for name, text in record.side.items():
        yield f"heliograph.text.{name}", well_formed(text)
