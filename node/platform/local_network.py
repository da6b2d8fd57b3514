"""Whether this machine lets the node speak on its network: port 5353, multicast, Apple's Local Network privacy."""

from __future__ import annotations

import errno
import os
import socket
import struct
from typing import Final

from node.core.lan import bare
from node.platform import IS_DARWIN

GROUP_V4: Final = "224.0.0.251"
GROUP_V6: Final = "ff02::fb"
PORT: Final = 5_353
# <sys/errno.h> of macOS.
DARWIN_EHOSTUNREACH: Final = 65
# A DNS message that asks nothing and says nothing.
_NOTHING: Final = bytes(12)


def local_network_problem(error: OSError) -> str | None:
    """What Apple's Local Network privacy has to do with an error of a multicast.

    None when it has nothing to do with it, as always on Linux, which has no such thing.
    """
    return darwin_problem(error.errno, uid=os.getuid()) if IS_DARWIN else None


def darwin_problem(code: int | None, *, uid: int) -> str | None:
    """The same for an errno of macOS and the user of the process (Apple TN3179: root is exempt).

    A multicast asks nobody the way, so it fails like this for one reason only.
    """
    if code != DARWIN_EHOSTUNREACH or uid == 0:
        return None
    return (
        'macOS does not let heliograph use the local network ("No route to host"). Allow it in System Settings > '
        "Privacy & Security > Local Network, under the name of heliograph, Python, or the app that started it, and run "
        "`helio down` and `helio up`. A node started from Terminal or over SSH needs no permission."
    )


def port_problem() -> str:
    """Why mDNS's port cannot be shared; empty when it can. Asked while this process does not have it open."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            sock.bind(("", PORT))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return (
                f"Another program has UDP port {PORT} for itself, which mDNS shares. Stop it, or let it share the port "
                "(avahi: disallow-other-stacks=no). Peers can still be added by address."
            )
        return f"UDP port {PORT} cannot be opened: {error.strerror or error}."
    return ""


def multicast_problem(source: str, index: int) -> str:
    """Why multicast cannot leave from that address of the interface with that index; empty when it can."""
    try:
        _send_nothing(source, index)
    except OSError as error:
        explained = local_network_problem(error)
        return (
            explained
            or f"The system refuses multicast from {source}: {error.strerror or error}. A firewall may forbid it."
        )
    return ""


def _send_nothing(source: str, index: int) -> None:
    v6 = ":" in source
    with socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM) as sock:
        if v6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, struct.pack("@I", index))
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 1)
            sock.sendto(_NOTHING, (GROUP_V6, PORT, 0, index))
        else:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(bare(source)))
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
            sock.sendto(_NOTHING, (GROUP_V4, PORT))
