"""Lines to peers, and their channels: dialled at one literal address, with its pinned certificate as the one root."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from node import errmap
from node.certificates import target_name
from node.core.limits import Limits
from node.core.links import dial_target
from node.core.mesh import Link, Peer
from node.grpc_setup import aio, grpc

PING_MS: Final = 10_000
PING_TIMEOUT_MS: Final = 5_000
# What may be on its way in one call before it is read: enough for 40 MB/s at a round trip of 100 ms.
UNREAD_BYTES: Final = 4_194_304


@dataclass(slots=True, kw_only=True)
class Line:
    """One peer's link at work. `scope` is the deadline of what goes on now, `anew` why it was cut short."""

    peer: Peer
    link: Link
    hints: tuple[str, ...] = ()
    kicked: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    channel: aio.Channel | None = None
    # The deadlines of what goes on beside it on channels of its own.
    extras: set[asyncio.Timeout] = field(default_factory=set)
    scope: asyncio.Timeout | None = None
    anew: str = ""
    # Which key of this node's it is dialled with.
    key: int = 0
    # The certificate that it is shown; another than the key's own one only if it made that itself.
    shown: str = ""


def dial(peer: Peer, address: str, *, key: bytes, shown: str, limits: Limits) -> aio.Channel:
    """A channel of its own to `peer`, which is shown the certificate `shown` (PEM) of `key`.

    INVALID_ARGUMENT for what is no address. Nothing is connected before the first call.
    """
    credentials = grpc.ssl_channel_credentials(peer.certificate.encode("ascii"), key, shown.encode("ascii"))
    options = (
        # The one certificate is the root, so nothing else passes; its name is asked for all the same.
        ("grpc.ssl_target_name_override", target_name(peer.spki)),
        ("grpc.keepalive_time_ms", PING_MS),
        ("grpc.keepalive_timeout_ms", PING_TIMEOUT_MS),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.min_reconnect_backoff_ms", 1_000 * limits.link_dial_s),
        ("grpc.max_receive_message_length", limits.mesh_message_bytes),
        ("grpc.max_send_message_length", limits.mesh_message_bytes),
        ("grpc.http2.max_frame_size", limits.mesh_message_bytes),
        ("grpc.http2.bdp_probe", 0),
        ("grpc.http2.lookahead_bytes", UNREAD_BYTES),
        ("grpc.max_metadata_size", errmap.METADATA_BYTES),
        ("grpc.enable_http_proxy", 0),
        ("grpc.enable_retries", 0),
        # Channels share neither a connection nor the back-off after a failed one.
        ("grpc.use_local_subchannel_pool", 1),
    )
    return aio.secure_channel(dial_target(address), credentials, options=options)
