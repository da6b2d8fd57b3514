"""An export as a Parquet file: a typed column for each value of a row, and the row's exact bytes."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from node.core.export_record import COLUMNS, TEXTS, Record, Sort, Value, ascii_json
from node.core.text import well_formed
from node.export_files import InFiles, TargetFile

_ROWS_AT_ONCE: Final = 10_000
_TYPES: Final = {Sort.TEXT: pa.string(), Sort.COUNT: pa.int64(), Sort.FLAG: pa.bool_()}

SCHEMA: Final = pa.schema(
    [
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("time", pa.timestamp("us", tz="UTC")),
        *(pa.field(column.name, _TYPES[column.sort]) for column in COLUMNS),
        *(pa.field(name, pa.string()) for name in TEXTS),
        pa.field("log", pa.string(), nullable=False),
        pa.field("prev", pa.string()),
        pa.field("leaf", pa.binary(), nullable=False),
        pa.field("damaged", pa.bool_(), nullable=False),
        pa.field("entry", pa.binary(), nullable=False),
        pa.field("side", pa.string(), nullable=False),
    ]
)


class ParquetSink(InFiles):
    """Rows as row groups of a file."""

    def __init__(self, target: TargetFile, manifest: TargetFile) -> None:
        super().__init__(target, manifest)
        self._rows: dict[str, list[Value | bytes]] = {name: [] for name in SCHEMA.names}
        self._writer: pq.ParquetWriter | None = None

    async def open(self) -> None:
        """Begins both files, and the one with rows as Parquet has it."""
        await super().open()
        self._writer = pq.ParquetWriter(pa.PythonFile(self._target, "w"), SCHEMA, compression="zstd")

    async def add(self, record: Record) -> None:
        """Takes a row; a row group is written when there are enough."""
        for name, value in _values(record).items():
            self._rows[name].append(value)
        if len(self._rows["seq"]) >= _ROWS_AT_ONCE:
            self._write()

    async def finish(self) -> None:
        """Writes what is left and the file's footer, and puts all on the disk."""
        if self._rows["seq"]:
            self._write()
        if self._writer is not None:
            self._writer.close()
        await super().finish()

    async def abandon(self) -> None:
        """Leaves nothing behind."""
        if self._writer is not None:
            # It would write its footer when it is collected.
            self._writer.is_open = False
        await super().abandon()

    def _write(self) -> None:
        if self._writer is None:
            raise ValueError("the export's file is not open")
        self._writer.write_table(pa.table(self._rows, schema=SCHEMA))
        for values in self._rows.values():
            values.clear()


def _values(record: Record) -> dict[str, Value | bytes]:
    values: dict[str, Value | bytes] = {"seq": record.seq, "time": record.ts_us}
    for column in COLUMNS:
        value = record.value(column)
        values[column.name] = well_formed(value) if isinstance(value, str) else value
    for name in TEXTS:
        text = record.side.get(name)
        values[name] = None if text is None else well_formed(text)
    values |= {
        "log": record.log,
        "prev": record.text("prev"),
        "leaf": record.leaf,
        "damaged": record.fields is None,
        "entry": record.data,
        "side": ascii_json(dict(record.side)),
    }
    return values
