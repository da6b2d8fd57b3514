"""What an attacker brings to a node's port: certificates made by hand, and bytes instead of gRPC."""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from node import errmap
from node.certificates import target_name
from node.grpc_setup import aio, grpc
from node.wire.v1 import mesh_pb2 as pb
from tests.peer_twin import Person

GREET = "/node.wire.v1.MeshService/Greet"
ATTEND = "/node.wire.v1.MeshService/Attend"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"


def forged(
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    *,
    subject: str,
    issuer: str,
    claims: ec.EllipticCurvePublicKey | None = None,
    authority: bool | None = None,
    may_sign: bool = False,
) -> Person:
    """A certificate of `key` that `signer` signed. It may claim to be of another key, and to be an authority."""
    now = datetime.now(UTC)
    usage = x509.KeyUsage(
        digital_signature=True, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=may_sign, crl_sign=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(subject[:32])]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(claims or key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .add_extension(usage, critical=True)
    )
    if authority is not None:
        builder = builder.add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    certificate = builder.sign(signer, hashes.SHA256())
    return Person(key, certificate.public_bytes(serialization.Encoding.PEM).decode("ascii"))


@asynccontextmanager
async def dialled(
    me: Person, server: Person, port: int, *, name: str = "", options: tuple[tuple[str, int], ...] = ()
) -> AsyncIterator[aio.Channel]:
    """A gRPC channel to a server that is believed to be `server`."""
    own = me.own
    credentials = grpc.ssl_channel_credentials(
        server.certificate.encode("ascii"), own.key, own.certificate.encode("ascii")
    )
    chosen = (
        ("grpc.ssl_target_name_override", name or target_name(server.spki)),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_retries", 0),
        *options,
    )
    channel = aio.secure_channel(f"ipv4:127.0.0.1:{port}", credentials, options=chosen)
    try:
        yield channel
    finally:
        await channel.close()


async def called(channel: aio.Channel, method: str = GREET, message: bytes | None = None) -> str:
    """What comes of one call: "ok", or gRPC's status and the reason that the server gave."""
    if message is None:
        message = pb.GreetRequest(version="1").SerializeToString()
    call = channel.unary_unary(method)(message, timeout=8)
    try:
        await call
    except aio.AioRpcError as error:
        return outcome(error)
    finally:
        call.cancel()
    return "ok"


def outcome(error: aio.AioRpcError) -> str:
    """gRPC's status and the server's reason, or its code when it gave none."""
    sent = errmap.carried(error)
    if sent is None:
        return error.code().name
    return f"{error.code().name} {sent.details.get('reason', sent.code.value)}"


def tls_context(me: Person, folder: Path, *, newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    """A TLS client that believes every server, and shows its own certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = newest
    context.set_alpn_protocols(["h2"])
    own = me.own
    place = folder / f"{me.id}.pem"
    place.write_bytes(own.key + own.certificate.encode("ascii"))
    context.load_cert_chain(place)
    return context


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """One HTTP/2 frame."""
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def headers(path: str, stream: int = 1) -> bytes:
    """What opens a gRPC call, in an HTTP/2 frame without any compression."""
    fields = {
        ":method": "POST", ":scheme": "https", ":path": path, ":authority": "x", "te": "trailers",
        "content-type": "application/grpc",
    }  # fmt: skip
    block = b"".join(
        b"\x00" + bytes((len(name),)) + name.encode() + bytes((len(value),)) + value.encode()
        for name, value in fields.items()
    )
    return frame(1, 4, stream, block)


def message(body: bytes, *, stream: int = 1, compressed: int = 0, claims: int | None = None) -> bytes:
    """A gRPC message in the last frame of a call; it may claim another length than it has."""
    size = len(body) if claims is None else claims
    return frame(0, 1, stream, bytes((compressed,)) + struct.pack(">I", size) + body)


def frames(data: bytes) -> list[tuple[int, bytes]]:
    """The kinds and payloads of the frames in `data`."""
    found = []
    while len(data) >= 9:
        size = int.from_bytes(data[:3], "big")
        found.append((data[3], data[9 : 9 + size]))
        data = data[9 + size :]
    return found


async def said(port: int, context: ssl.SSLContext | None, data: bytes, *, seconds: float = 1.0) -> bytes:
    """All that the server says to these bytes, up to its end of the connection or for some seconds."""
    heard = bytearray()
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
            try:
                writer.write(data)
                await writer.drain()
                while more := await reader.read(65_536):
                    heard += more
            finally:
                writer.close()
    except (TimeoutError, OSError):
        return bytes(heard)
    return bytes(heard)
