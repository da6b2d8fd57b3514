"""What is thought about links: addresses as gRPC takes them, words for what failed, pauses between attempts."""

from __future__ import annotations

import pytest

from node.core.errors import ErrorCode, MeshError
from node.core.links import LinkEnd, dial_target, end_of_call, pause_s

AT = "192.0.2.7:4354"


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("192.0.2.7:4354", "ipv4:192.0.2.7:4354"),
        ("[2001:db8::7]:65535", "ipv6:[2001:db8::7]:65535"),
        ("[2001:DB8:0:0::7]:1", "ipv6:[2001:db8::7]:1"),
        ("[fe80::1%eth0]:4354", "ipv6:[fe80::1%25eth0]:4354"),
        ("[fe80::1%en0.7]:4354", "ipv6:[fe80::1%25en0.7]:4354"),
    ],
)
def test_literal_addresses_are_dialled(address: str, target: str) -> None:
    assert dial_target(address) == target


@pytest.mark.parametrize(
    "address",
    ["", "192.0.2.7", "192.0.2.7:", "192.0.2.7:0", "192.0.2.7:65536", "192.0.2.256:1", "192.0.2.07:1", "localhost:4354",
     "mac.local:4354", "unix:/tmp/x", "2001:db8::7:4354", "[2001:db8::7]", "[::g]:1", "[fe80::1%]:1", "[fe80::1%a b]:1",
     "[fe80::1%25eth0\n]:1", "[fe80::1%eth0%eth1]:1", "ipv4:192.0.2.7:4354", "192.0.2.7:4354,192.0.2.8:4354",
     "\u0661.1.1.1:1", "[" + "1:" * 400 + "]:1", "0.0.0.0:1", "[fd00::1%eth0]:1"],
)  # fmt: skip
def test_nothing_else_is_an_address(address: str) -> None:
    with pytest.raises(MeshError) as caught:
        dial_target(address)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert len(caught.value.message) < 400


def ended(text: str = "", *, status: str = "UNAVAILABLE", reason: str | None = None, was_up: bool = False) -> LinkEnd:
    return end_of_call(status=status, text=text, reason=reason, address=AT, was_up=was_up)


@pytest.mark.parametrize(
    ("text", "refused", "words"),
    [
        ("SSL_ERROR_SSL: ...:CERTIFICATE_VERIFY_FAILED: unable to get local issuer certificate", True, "another key"),
        ("SSL_ERROR_SSL: ...:CERTIFICATE_VERIFY_FAILED: certificate has expired", True, "has expired"),
        ("SSL_ERROR_SSL: ...:CERTIFICATE_VERIFY_FAILED: certificate is not yet valid", True, "not valid yet"),
        ("UNAUTHENTICATED: Hostname Verification Check failed.", True, "another key answers"),
        ("Failed to connect to remote host: Connection refused", False, "nothing listens"),
        ("Failed to connect to remote host: No route to host", False, "no way to"),
        ("Failed to connect to remote host: Network is unreachable", False, "no way to"),
        ("UNAVAILABLE: ipv4:192.0.2.7:4354: Handshake read failed (Socket closed)", False, "ended the connection"),
        ("UNAVAILABLE: ipv4:192.0.2.7:4354: Socket closed", True, "unpaired there?"),
        ("recvmsg:Connection reset by peer", True, "unpaired there?"),
        ("something that no version has said so far", False, "cannot be reached (unavailable)"),
    ],
)
def test_what_grpc_says_has_words_for_people(text: str, *, refused: bool, words: str) -> None:
    end = ended(text)
    assert (end.refused, end.was_up) == (refused, False)
    assert words in end.why
    assert AT in end.why


def test_a_reason_of_the_peers_counts_more_and_its_text_is_not_passed_on() -> None:
    assert ended("evil \x1b[2J", status="UNAUTHENTICATED", reason="revoked", was_up=True) == LinkEnd(
        why="the other node does not know this one (unpaired there?)", refused=True, was_up=True
    )
    assert not ended(status="RESOURCE_EXHAUSTED", reason="too_many").refused
    for end in (ended("evil", reason="evil"), ended("evil", was_up=True), ended("evil", status="INTERNAL")):
        assert "evil" not in end.why


def test_an_attempt_without_an_answer_says_so() -> None:
    assert ended(status="DEADLINE_EXCEEDED").why == f"{AT} does not answer"


def test_a_pause_grows_with_the_attempts_and_the_time_away_up_to_the_cap() -> None:
    def most(attempt: int, away_s: float, *, refused: bool = False) -> float:
        return 2 * pause_s(refused=refused, attempt=attempt, away_s=away_s, cap_s=30, fraction=0.5)

    assert [most(n, 0) for n in range(3)] == [0.25, 0.5, 0.5]
    # Whoever is back after 25 seconds is found within one.
    assert most(99, 25) == 0.5
    assert most(99, 250) == 5
    assert most(99, 1e9) == 30
    assert [most(n, 0, refused=True) for n in (0, 1, 2, 5, 99)] == [1, 2, 4, 30, 30]
    assert pause_s(refused=False, attempt=3, away_s=0, cap_s=30, fraction=0) == 0
