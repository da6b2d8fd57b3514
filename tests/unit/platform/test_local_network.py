"""Whether the machine lets the node speak: port 5353, multicast, and Apple's Local Network privacy from its errno."""

from __future__ import annotations

import errno
import socket
import sys

import pytest

from node.platform import local_network
from node.platform.local_network import darwin_problem, local_network_problem, multicast_problem, port_problem
from tests.fake_model.alone import alone

NO_ROUTE = local_network.DARWIN_EHOSTUNREACH


def test_macos_denies_multicast_and_the_person_is_told_where_to_allow_it() -> None:
    told = darwin_problem(NO_ROUTE, uid=501)
    assert told is not None
    assert told.startswith("macOS does not let heliograph use the local network")
    assert "System Settings > Privacy & Security > Local Network" in told
    assert "Terminal or over SSH" in told


@pytest.mark.parametrize(("code", "uid"), [(NO_ROUTE, 0), (51, 501), (61, 501), (None, 501)])
def test_other_errors_and_root_have_nothing_to_do_with_it(code: int | None, uid: int) -> None:
    assert darwin_problem(code, uid=uid) is None


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux: there is no Local Network privacy")
def test_linux_has_no_such_thing() -> None:
    for code in (errno.EHOSTUNREACH, NO_ROUTE, errno.EPERM):
        assert local_network_problem(OSError(code, "no")) is None


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux: in a network namespace of its own")
def test_the_port_is_shared_with_those_who_share_it() -> None:
    def work() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            other.bind(("", local_network.PORT))
            assert port_problem() == ""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(("", local_network.PORT))
            told = port_problem()
            assert "Another program has UDP port 5353" in told
            assert "added by address" in told
        assert port_problem() == ""

    alone(work)


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux: in a network namespace of its own")
def test_multicast_that_cannot_leave_is_told() -> None:
    def work() -> None:
        index = socket.if_nametoindex("lo")
        assert multicast_problem("127.0.0.1", index) == ""
        told = multicast_problem("::1", index)
        assert told.startswith("The system refuses multicast from ::1: ")

    alone(work)
