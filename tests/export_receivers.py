"""Receivers of exports on real sockets: syslog over TLS and OTLP over HTTP, and an authority of their own."""

from __future__ import annotations

import http.server
import ipaddress
import socket
import ssl
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as service

DEADLINE_S = 20.0


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


class TestAuthority:
    """An authority whose certificate is in the file `path`, and what it issues."""

    __test__ = False

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._own = self._built(_name(name), self._key.public_key(), _name(name), authority=True).sign(
            self._key, hashes.SHA256()
        )
        self.path = folder / f"{name}.pem"
        self.path.write_bytes(self._own.public_bytes(serialization.Encoding.PEM))

    def issue(self, host: str) -> Path:
        """A file with a certificate for that name or address, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        try:
            named: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
        except ValueError:
            named = x509.DNSName(host)
        certificate = (
            self._built(_name(host), key.public_key(), self._own.subject, authority=False)
            .add_extension(x509.SubjectAlternativeName([named]), critical=False)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
        path = self._folder / f"{host.replace(':', '_')}.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
        return path

    def _built(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, issuer: x509.Name, *, authority: bool
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )


def server_context(certificate: Path, clients: Path | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients)
    return context


@dataclass(slots=True, kw_only=True)
class SyslogReceiver:
    """Takes one connection: all that came over it, how TLS ended, and who called."""

    port: int
    data: bytearray = field(default_factory=bytearray)
    version: str | None = None
    caller: object = None
    ended_in_order: bool = False
    done: threading.Event = field(default_factory=threading.Event)

    def all(self) -> bytes:
        """What it got, once the connection has ended."""
        assert self.done.wait(DEADLINE_S)
        return bytes(self.data)


@contextmanager
def syslog_receiver(context: ssl.SSLContext, *, at_most: int | None = None) -> Iterator[SyslogReceiver]:
    """A receiver at 127.0.0.1; with `at_most`, it hangs up after so many bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(DEADLINE_S)
        receiver = SyslogReceiver(port=listening.getsockname()[1])

        def serve() -> None:
            with suppress(OSError):
                raw, _ = listening.accept()
                raw.settimeout(DEADLINE_S)
                with context.wrap_socket(raw, server_side=True, suppress_ragged_eofs=False) as connection:
                    receiver.version, receiver.caller = connection.version(), connection.getpeercert()
                    while piece := connection.recv(65_536):
                        receiver.data += piece
                        if at_most is not None and len(receiver.data) >= at_most:
                            return
                    receiver.ended_in_order = True
            receiver.done.set()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield receiver
        finally:
            # Whoever still waits for a caller is woken.
            with suppress(OSError), socket.create_connection(("127.0.0.1", receiver.port), timeout=1):
                pass
            thread.join(DEADLINE_S)
            receiver.done.set()


@dataclass(slots=True, kw_only=True)
class Answer:
    """What an OTLP receiver says to a batch."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    # Hang up without an answer.
    lost: bool = False
    # Say nothing until this happens.
    hold: threading.Event | None = None


@dataclass(slots=True, kw_only=True)
class OtlpReceiver:
    """All batches that came, and the answers still to give: 200 once there are none."""

    port: int = 0
    answers: deque[Answer] = field(default_factory=deque)
    batches: list[service.ExportLogsServiceRequest] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)


@contextmanager
def otlp_receiver(context: ssl.SSLContext | None = None) -> Iterator[OtlpReceiver]:
    """A receiver at 127.0.0.1."""
    receiver = OtlpReceiver()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            receiver.bodies.append(body)
            receiver.batches.append(service.ExportLogsServiceRequest.FromString(body))
            answer = receiver.answers.popleft() if receiver.answers else Answer()
            if answer.hold is not None:
                answer.hold.wait(DEADLINE_S)
            if answer.lost:
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        receiver.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join(DEADLINE_S)
