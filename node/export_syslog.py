"""Sends an export to a syslog receiver over TLS (RFC 5425). Syslog confirms nothing: what arrived, only they know."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from node.core.errors import ErrorCode, MeshError
from node.core.export_record import Record
from node.core.export_syslog import Header, frames
from node.export_files import TargetFile, publish_manifest

_AT_ONCE: Final = 65_536
_CONNECT_S: Final = 30.0
# A receiver that takes nothing for so long is given up.
_STALLED_S: Final = 60.0
_CLOSE_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver:
    """Where to: a host whose certificate must have that name."""

    host: str
    port: int
    context: ssl.SSLContext

    @property
    def shown(self) -> str:
        """As a person writes it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def tls_context(ca: Path | None, cert: Path | None = None) -> ssl.SSLContext:
    """TLS 1.2 or later, the other end proven by the system's authorities or those in `ca`.

    `cert` is a file with a certificate and its key, for receivers which ask who is calling. INVALID_ARGUMENT for files
    that hold no such thing.
    """
    try:
        context = ssl.create_default_context(cafile=None if ca is None else str(ca))
        if cert is not None:
            context.load_cert_chain(str(cert))
    except (OSError, ValueError) as error:
        named = " or ".join(str(path) for path in (ca, cert) if path is not None)
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"{named} cannot be used for TLS: {error}. Give files with certificates in PEM form.",
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class SyslogSink:
    """Rows as frames on one connection."""

    warnings: tuple[str, ...] = ()

    def __init__(self, receiver: Receiver, header: Header, manifest: TargetFile | None) -> None:
        self.written = 0
        self.messages = 0
        self._receiver = receiver
        self._header = header
        self._manifest = manifest
        self._digest = sha256()
        self._waiting = bytearray()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def sha256(self) -> str:
        """Of all frames, in hex."""
        return self._digest.hexdigest()

    async def open(self) -> None:
        """Connects. UNAUTHENTICATED when the certificate does not prove the host, UNAVAILABLE when nobody answers."""
        to = self._receiver
        if self._manifest is not None:
            self._manifest.open()
        try:
            async with asyncio.timeout(_CONNECT_S):
                self._streams = await asyncio.open_connection(to.host, to.port, ssl=to.context, server_hostname=to.host)
        except ssl.SSLCertVerificationError as error:
            raise MeshError(
                ErrorCode.UNAUTHENTICATED,
                f"{to.shown} did not prove that it is {to.host}: {error.verify_message}. Nothing was "
                "handed over. If it has a certificate of your own authority, give that with --ca FILE.",
            ) from error
        except (OSError, TimeoutError) as error:
            raise MeshError(
                ErrorCode.UNAVAILABLE,
                f"No syslog receiver with TLS answers at {to.shown} ({_why(error)}). Nothing was handed over.",
            ) from error

    async def add(self, record: Record) -> None:
        """Sends a row, in as many messages as it takes."""
        for frame in frames(record, self._header, self.messages + 1):
            self.messages += 1
            self.written += len(frame)
            self._digest.update(frame)
            self._waiting += frame
        if len(self._waiting) >= _AT_ONCE:
            await self._send()

    async def finish(self) -> None:
        """Sends what is left and ends the connection in order, after which the receiver has all that TLS can tell."""
        await self._send()
        _, writer = self._connected
        writer.close()
        try:
            async with asyncio.timeout(_CLOSE_S):
                await writer.wait_closed()
        except (OSError, TimeoutError) as error:
            raise self._lost(error) from error

    async def publish(self, manifest: bytes) -> None:
        """Writes the manifest, where one is wanted."""
        publish_manifest(self._manifest, manifest)

    async def abandon(self) -> None:
        """Ends the connection; what was handed over cannot be taken back."""
        if self._manifest is not None:
            self._manifest.abandon()
        if self._streams is not None:
            _, writer = self._streams
            writer.transport.abort()
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    await writer.wait_closed()

    @property
    def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            raise ValueError("the export is not connected")
        return self._streams

    async def _send(self) -> None:
        data, self._waiting = bytes(self._waiting), bytearray()
        reader, writer = self._connected
        try:
            # A receiver says nothing on this connection; what can be read is its end.
            if reader.at_eof():
                raise ConnectionResetError("the receiver ended the connection")
            writer.write(data)
            async with asyncio.timeout(_STALLED_S):
                await writer.drain()
        except (OSError, TimeoutError) as error:
            raise self._lost(error) from error

    def _lost(self, error: Exception) -> MeshError:
        return MeshError(
            ErrorCode.UNAVAILABLE,
            f"The connection to {self._receiver.shown} was lost ({_why(error)}) after up to {self.messages} "
            "messages. Syslog confirms nothing, so only the receiver can say which of them arrived: look there, then "
            "go on with --from-seq.",
            {"messages": self.messages},
        )


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it took too long"
    return error.strerror or str(error) if isinstance(error, OSError) else type(error).__name__
