"""Sends an export to an OpenTelemetry receiver: OTLP logs over HTTP, each batch confirmed before the next."""

from __future__ import annotations

import asyncio
import http.client
import random
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as service
from opentelemetry.proto.common.v1 import common_pb2 as common
from opentelemetry.proto.logs.v1 import logs_pb2 as logs

from node.core.errors import ErrorCode, MeshError
from node.core.export_otlp import SCOPE, Attribute, LogRecord, log_record
from node.core.export_record import Record
from node.export_files import TargetFile, publish_manifest

_ROWS_AT_ONCE: Final = 500
_BYTES_AT_ONCE: Final = 1 << 20
_ANSWER_BYTES: Final = 65_536
_CALL_S: Final = 30.0
_TRIES: Final = 5
_LONGEST_WAIT_S: Final = 30.0
_AGAIN: Final = frozenset({429, 502, 503, 504})
_WORDS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where to; `headers` may hold what the receiver knows its callers by, so they are shown nowhere."""

    host: str
    port: int
    path: str
    context: ssl.SSLContext | None
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> str:
        """As a person writes it, without what may be secret in it."""
        return f"{'http' if self.context is None else 'https'}://{self.host}:{self.port}{self.path}"


class OtlpSink:
    """Rows as log records, in batches."""

    def __init__(
        self,
        endpoint: Endpoint,
        resource: tuple[Attribute, ...],
        version: str,
        manifest: TargetFile | None,
        *,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._pause = pause
        self.written = 0
        self.accepted = 0
        self.warnings: list[str] = []
        self._endpoint = endpoint
        self._manifest = manifest
        self._digest = sha256()
        self._request = service.ExportLogsServiceRequest()
        resource_logs = self._request.resource_logs.add()
        resource_logs.resource.attributes.extend(map(_key_value, resource))
        self._scope_logs = resource_logs.scope_logs.add()
        self._scope_logs.scope.name = SCOPE
        self._scope_logs.scope.version = version
        self._size = 0
        self._connection: http.client.HTTPConnection | None = None

    @property
    def sha256(self) -> str:
        """Of the bodies of all requests, in hex."""
        return self._digest.hexdigest()

    async def open(self) -> None:
        """Nothing is sent before there is a batch."""
        if self._manifest is not None:
            self._manifest.open()

    async def add(self, record: Record) -> None:
        """Sends a batch when there is one."""
        wire = _wire(log_record(record))
        self._scope_logs.log_records.append(wire)
        self._size += wire.ByteSize()
        if len(self._scope_logs.log_records) >= _ROWS_AT_ONCE or self._size >= _BYTES_AT_ONCE:
            await self._send()

    async def finish(self) -> None:
        """Sends what is left."""
        if self._scope_logs.log_records:
            await self._send()
        self._hang_up()

    async def publish(self, manifest: bytes) -> None:
        """Writes the manifest, where one is wanted."""
        publish_manifest(self._manifest, manifest)

    async def abandon(self) -> None:
        """Ends the connection; what was confirmed is there."""
        self._hang_up()
        if self._manifest is not None:
            self._manifest.abandon()

    async def _send(self) -> None:
        body, count = self._request.SerializeToString(), len(self._scope_logs.log_records)
        del self._scope_logs.log_records[:]
        self._size = 0
        status, answer = await self._answered(body)
        if status != 200:
            raise MeshError(
                ErrorCode.UNAVAILABLE,
                f"{self._endpoint.shown} refused {count} log records with HTTP status {status}{_said(answer)}. "
                f"{self.accepted} were accepted before; go on with --from-seq once that is mended.",
                {"status": status, "accepted": self.accepted},
            )
        self._check(answer, count)
        self.written += len(body)
        self._digest.update(body)
        self.accepted += count

    def _check(self, answer: bytes, count: int) -> None:
        """A part that was refused must not be sent again, and is gone unless somebody is told."""
        try:
            told = service.ExportLogsServiceResponse.FromString(answer).partial_success
        except ValueError:
            # Some answer 200 with a body of their own.
            return
        refused, words = told.rejected_log_records, told.error_message[:_WORDS]
        if refused:
            raise MeshError(
                ErrorCode.UNAVAILABLE,
                f"{self._endpoint.shown} refused {refused} of {count} log records"
                f"{f': {words}' if words else ''}. {self.accepted} were accepted before these, and nothing was sent "
                "after. Mend what it complains of, then go on with --from-seq.",
                {"refused": refused, "accepted": self.accepted + count - refused},
            )
        if words:
            self.warnings.append(words)

    async def _answered(self, body: bytes) -> tuple[int, bytes]:
        """The answer to a batch, which is sent again while the receiver says that it is busy or is away.

        A receiver that took it and whose answer was lost gets it twice: `log.record.uid` tells.
        """
        failure = ""
        for number in range(_TRIES):
            # Full jitter, unless the receiver says how long.
            wait_s = random.uniform(0, min(2.0**number, _LONGEST_WAIT_S))  # noqa: S311
            try:
                status, answer, retry_after = await asyncio.to_thread(self._post, body)
            except ssl.SSLCertVerificationError as error:
                raise MeshError(
                    ErrorCode.UNAUTHENTICATED,
                    f"{self._endpoint.shown} did not prove who it is: {error.verify_message}. Nothing was "
                    "handed over. If it has a certificate of your own authority, give that with --ca FILE.",
                ) from error
            except (OSError, http.client.HTTPException) as error:
                self._hang_up()
                failure = str(error) or type(error).__name__
            else:
                if status not in _AGAIN:
                    return status, answer
                failure = f"HTTP status {status}"
                if retry_after is not None:
                    wait_s = retry_after
                    failure += f", asks to be left alone for {retry_after:g} s"
            if number + 1 == _TRIES or wait_s > _LONGEST_WAIT_S:
                # Longer than that, a person knows better whether to wait.
                break
            await self._pause(wait_s)
        raise MeshError(
            ErrorCode.UNAVAILABLE,
            f"{self._endpoint.shown} does not take a batch now ({failure}). "
            f"{self.accepted} log records were accepted before; go on with --from-seq later.",
            {"accepted": self.accepted},
        )

    def _post(self, body: bytes) -> tuple[int, bytes, float | None]:
        """Status, the beginning of the body, and what Retry-After says, of one request. Blocking."""
        to = self._endpoint
        if self._connection is None:
            self._connection = (
                http.client.HTTPConnection(to.host, to.port, timeout=_CALL_S)
                if to.context is None
                else http.client.HTTPSConnection(to.host, to.port, timeout=_CALL_S, context=to.context)
            )
        headers = {"Content-Type": "application/x-protobuf", "User-Agent": "heliograph", **dict(to.headers)}
        self._connection.request("POST", to.path, body, headers)
        response = self._connection.getresponse()
        answer = response.read(_ANSWER_BYTES)
        if not response.isclosed():
            # More than anybody has to say: the rest is not worth the wait.
            self._hang_up()
        after = response.headers.get("Retry-After", "")
        return response.status, answer, float(after) if after.isascii() and after.isdigit() else None

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if connection.sock is not None:
            # Wakes a thread that waits for an answer which nobody wants any more.
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)
        connection.close()


def endpoint_of(url: str, context: ssl.SSLContext, headers: tuple[tuple[str, str], ...] = ()) -> Endpoint:
    """The endpoint of a URL; one without a path is the base of a receiver, whose logs have a path of their own.

    INVALID_ARGUMENT for what is none, for a name and password in it, and for one that is in clear and not this machine.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in {"http", "https"} or not host or parts.fragment:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"{url[:200]!r} is no endpoint. Write one like https://otel.example.org:4318/v1/logs.",
        )
    if parts.username is not None or parts.password is not None:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            "The endpoint holds a name or a password, which other programs of this machine could read. Put it into a "
            "file as a header and give that with --header-file.",
        )
    if parts.scheme == "http" and host not in {"localhost", "::1"} and not host.startswith("127."):
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"The timeline does not go to {host} in clear. Use https://, or a receiver on this machine.",
        )
    path = (parts.path if parts.path not in {"", "/"} else "/v1/logs") + (f"?{parts.query}" if parts.query else "")
    return Endpoint(
        host=host,
        port=port or (443 if parts.scheme == "https" else 80),
        path=path,
        context=context if parts.scheme == "https" else None,
        headers=headers,
    )


def _wire(record: LogRecord) -> logs.LogRecord:
    return logs.LogRecord(
        time_unix_nano=record.time_ns,
        observed_time_unix_nano=record.time_ns,
        severity_number=logs.SeverityNumber.ValueType(record.severity),
        severity_text=record.severity_text,
        event_name=record.event_name,
        body=common.AnyValue(string_value=record.body),
        attributes=map(_key_value, record.attributes),
    )


def _key_value(attribute: Attribute) -> common.KeyValue:
    name, value = attribute
    match value:
        case bool():
            return common.KeyValue(key=name, value=common.AnyValue(bool_value=value))
        case int():
            return common.KeyValue(key=name, value=common.AnyValue(int_value=value))
        case str():
            return common.KeyValue(key=name, value=common.AnyValue(string_value=value))


def _said(answer: bytes) -> str:
    """What a refusal says for itself, if it is words."""
    try:
        words = answer[:_WORDS].decode("utf-8").strip()
    except UnicodeDecodeError:
        return ""
    return f" ({words})" if words and words.isprintable() else ""
