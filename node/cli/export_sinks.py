"""Which sink the words of `helio timeline export` ask for; every combination that makes no sense is refused here."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from node.core.canonical import JsonValue
from node.core.errors import ErrorCode, MeshError
from node.core.export_record import MICRO, Format, Record, line_of

if TYPE_CHECKING:
    from node.core.export_ocsf import Link
    from node.export_files import TargetFile
    from node.export_run import Sink

_NETWORK = {Format.SYSLOG: "--to HOST:PORT", Format.OTLP: "--endpoint URL"}
_HEADER_BYTES = 65_536
_QUARTER_S = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The words of the command, but for the filter. INVALID_ARGUMENT when they do not go together."""

    format: Format
    output: Path | None
    force: bool
    to: str | None
    endpoint: str | None
    ca: Path | None
    cert: Path | None
    header_file: Path | None
    manifest: Path | None
    bom: bool
    ocsf: str
    enterprise: int | None

    def __post_init__(self) -> None:
        wants = _NETWORK.get(self.format, "-o FILE")
        given = {
            "-o FILE": self.output is not None,
            "--to HOST:PORT": self.to is not None,
            "--endpoint URL": self.endpoint is not None,
        }
        if not given[wants]:
            raise _misused(f"--format {self.format.value} needs {wants}")
        for option, is_there in given.items():
            if option != wants and is_there:
                raise _misused(f"--format {self.format.value} goes to {wants}, not to {option}")
        if self.format is Format.PARQUET and self.to_stdout:
            raise _misused("A Parquet file is not written to standard output; give -o FILE")
        if self.manifest is not None and self.output is not None and self.manifest.absolute() == self.output.absolute():
            raise _misused("The export and its manifest cannot have the same name")
        for name, said, formats in (
            ("--bom", self.bom, {Format.CSV}),
            ("--ca", self.ca, set(_NETWORK)),
            ("--cert", self.cert, set(_NETWORK)),
            ("--header-file", self.header_file, {Format.OTLP}),
            ("--enterprise", self.enterprise, {Format.SYSLOG}),
        ):
            if said and self.format not in formats:
                raise _misused(f"{name} has no meaning for --format {self.format.value}")

    @property
    def to_stdout(self) -> bool:
        """Whether rows go to standard output, which then is no place for words."""
        return self.output is not None and str(self.output) == "-"

    @property
    def destination(self) -> str:
        """Where it goes, for a person to read."""
        if self.to_stdout:
            return "standard output"
        if self.output is not None:
            return str(self.output.absolute())
        # What stands in the other parts of an endpoint may be nobody else's to know.
        scheme, _, rest = (self.endpoint or "").partition("://")
        return self.to or f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"

    @property
    def file_name(self) -> str | None:
        """The name of the file, without its folder."""
        return None if self.output is None or self.to_stdout else self.output.name

    @property
    def manifest_path(self) -> Path | None:
        """Where the manifest goes, if anywhere."""
        from node.export_files import MANIFEST_SUFFIX

        if self.manifest is not None or self.output is None or self.to_stdout:
            return self.manifest
        return self.output.with_name(self.output.name + MANIFEST_SUFFIX)

    @property
    def told(self) -> dict[str, JsonValue]:
        """What the manifest says of how the format was written."""
        match self.format:
            case Format.CSV:
                return {"bom": self.bom}
            case Format.OCSF:
                return {"version": self.ocsf}
            case _:
                return {}


def sink_of(choices: Choices) -> Sink:
    """The sink. UNSUPPORTED when the format needs an extra that is not installed."""
    from node.export_files import FileSink, StreamSink, TargetFile

    path = choices.manifest_path
    manifest = None if path is None else TargetFile(path, force=choices.force)
    match choices.format:
        case Format.SYSLOG:
            return _syslog(choices, manifest)
        case Format.OTLP:
            return _otlp(choices, manifest)
        case _:
            pass
    if choices.to_stdout:
        return StreamSink(manifest, *_encoder(choices))
    # Of a file in the way, and of a folder that is missing, the run says so before anything is exported.
    assert choices.output is not None and manifest is not None  # noqa: S101, PT018
    target = TargetFile(choices.output, force=choices.force)
    if choices.format is Format.PARQUET:
        return _parquet(target, manifest)
    return FileSink(target, manifest, *_encoder(choices))


def local_offset(us: int) -> int:
    """Seconds that this machine's time zone is ahead of UTC at a moment."""
    # Zones change their offset at full quarters of an hour.
    return _offset_of_quarter(us // (_QUARTER_S * MICRO))


@lru_cache(maxsize=1_024)
def _offset_of_quarter(quarter: int) -> int:
    ahead = datetime.fromtimestamp(quarter * _QUARTER_S, UTC).astimezone().utcoffset()
    return 0 if ahead is None else int(ahead.total_seconds())


def _encoder(choices: Choices) -> tuple[bytes, Callable[[Record], bytes]]:
    """What a file begins with, and how it holds a row."""
    match choices.format:
        case Format.CSV:
            from node.core import export_csv

            return export_csv.header(bom=choices.bom), lambda record: export_csv.line(record, local_offset)
        case Format.OCSF:
            return b"", _Ocsf(choices.ocsf).encode
        case _:
            return b"", line_of


class _Ocsf:
    """Rows as events that each point to the one before."""

    def __init__(self, version: str) -> None:
        from node.core import export_ocsf

        self._events = export_ocsf.events
        self._version = export_ocsf.Version(version)
        self._before: Link | None = None

    def encode(self, record: Record) -> bytes:
        """The events of a row."""
        lines, self._before = self._events(record, local_offset, version=self._version, before=self._before)
        return lines


def _syslog(choices: Choices, manifest: TargetFile | None) -> Sink:
    from node.core.export_syslog import DEFAULT_PORT, ENTERPRISE, Header
    from node.export_syslog import Receiver, SyslogSink, tls_context
    from node.version import VERSION

    host, port = _host_and_port(choices.to or "", DEFAULT_PORT)
    header = Header(hostname=socket.gethostname(), version=VERSION, enterprise=choices.enterprise or ENTERPRISE)
    receiver = Receiver(host=host, port=port, context=tls_context(choices.ca, choices.cert))
    return SyslogSink(receiver, header, manifest)


def _otlp(choices: Choices, manifest: TargetFile | None) -> Sink:
    try:
        from node.export_otlp import OtlpSink, endpoint_of
    except ImportError as error:
        raise _lacks("otlp", error) from error
    from node.export_syslog import tls_context
    from node.version import VERSION

    headers = () if choices.header_file is None else _headers(choices.header_file)
    endpoint = endpoint_of(choices.endpoint or "", tls_context(choices.ca, choices.cert), headers)
    resource = (("service.name", "heliograph"), ("service.version", VERSION), ("host.name", socket.gethostname()))
    return OtlpSink(endpoint, resource, VERSION, manifest)


def _parquet(target: TargetFile, manifest: TargetFile) -> Sink:
    try:
        from node.export_parquet import ParquetSink
    except ImportError as error:
        raise _lacks("parquet", error) from error
    return ParquetSink(target, manifest)


def _lacks(extra: str, error: ImportError) -> MeshError:
    return MeshError(
        ErrorCode.UNSUPPORTED,
        f"--format {extra} needs {error.name or 'a library'}, which is not installed here. Install heliograph with "
        f"its extra: pip install 'heliograph[{extra}]'.",
        {"extra": extra},
    )


def _host_and_port(text: str, default: int) -> tuple[str, int]:
    """HOST, HOST:PORT, [V6] or [V6]:PORT."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        given = rest.removeprefix(":")
        sound = rest == "" or rest.startswith(":")
    else:
        host, _, given = text.partition(":")
        sound = True
    port = int(given) if given.isascii() and given.isdigit() and len(given) < 6 else default
    if not host or not sound or (given and not given.isdigit()) or not 0 < port < 65_536 or ":" in given:
        raise _misused(f"{text!r} is no receiver. Write HOST:PORT, such as siem.example.org:6514")
    return host, port


def _headers(path: Path) -> tuple[tuple[str, str], ...]:
    """`Name: value`, a line each; the values are secrets and are shown nowhere."""
    try:
        data = path.read_bytes()[:_HEADER_BYTES]
    except OSError as error:
        raise _misused(f"{path} cannot be read: {error.strerror}") from error
    found: list[tuple[str, str]] = []
    for number, line in enumerate(data.decode("ascii", "replace").splitlines(), start=1):
        name, colon, value = line.partition(":")
        sound = colon and name.strip() and name.strip().replace("-", "").isalnum() and value.strip().isprintable()
        if line.strip() and not (sound and "\ufffd" not in line):
            raise _misused(f"Line {number} of {path} is no header. Write `Name: value`, a line each")
        if line.strip():
            found.append((name.strip(), value.strip()))
    return tuple(found)


def _misused(what: str) -> MeshError:
    return MeshError(ErrorCode.INVALID_ARGUMENT, f"{what}. Nothing was exported. See: helio timeline export --help")
