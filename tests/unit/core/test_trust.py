"""What peers are called, where they are dialled, and which of them is meant."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core import trust
from node.core.errors import ErrorCode, MeshError
from node.core.mesh import Peer
from node.core.policy import NICKNAME_MAX, clean_nickname, nickname_key, nickname_skeleton
from tests.integration.mesh import refused


def peer(name: str, peer_id: str = "") -> Peer:
    spki = hashlib.sha256(name.encode()).hexdigest()
    return Peer(
        id=peer_id or trust.node_id_of(spki), name=name, spki=spki, certificate="", addresses=(), given=frozenset(),
        got=frozenset(), paired_us=1,
    )  # fmt: skip


ID = peer("x").id


def test_an_id_is_the_pin_in_other_letters() -> None:
    assert trust.node_id_of("00" * 32) == "a" * 52
    assert len(ID) == 52


@pytest.mark.parametrize(
    ("proposal", "name"),
    [
        ("studio", "studio"),
        ("  Zoë's MacBook Pro ", "Zoë-s-MacBook-Pro"),
        ("a\x1b[2J\n\u202eb\0c", "a-2J-b-c"),
        ("../../etc/passwd", "etc-passwd"),
        ("@studio", "studio"),
        ("x" * 100, "x" * 32),
        ("", f"node-{ID[:6]}"),
        ("\u200b\u2060 😀", f"node-{ID[:6]}"),
        ("---", f"node-{ID[:6]}"),
        ("\u3164", f"node-{ID[:6]}"),
    ],
)
def test_a_strangers_words_become_a_name(proposal: str, name: str) -> None:
    assert trust.proposed_name(proposal, ID, ()) == name


@pytest.mark.parametrize("proposal", ["studio", "STUDIO", "stud10", "ѕtudio", "ｓｔｕｄｉｏ"])
def test_a_name_is_unlike_that_of_every_other_peer(proposal: str) -> None:
    peers = [peer("studio")]
    for number in range(2, 5):
        name = trust.proposed_name(proposal, ID, peers)
        assert name.endswith(f"-{number}")
        peers.append(peer(name))
    assert len({nickname_skeleton(one.name) for one in peers}) == len(peers)


@given(st.text(), st.lists(st.text(max_size=40), max_size=5))
def test_any_words_become_a_safe_name(proposal: str, others: list[str]) -> None:
    peers: list[Peer] = []
    for at, other in enumerate([*others, proposal, proposal]):
        name = trust.proposed_name(other, trust.node_id_of(f"{at:064x}"), peers)
        assert clean_nickname(name) == name
        assert len(name) <= NICKNAME_MAX
        assert unicodedata.is_normalized("NFC", name)
        assert nickname_key(name) not in {nickname_key(one.name) for one in peers}
        peers.append(peer(name))


def test_a_name_that_a_person_gives_is_checked() -> None:
    peers = [peer("studio"), peer("laptop")]
    assert trust.check_name("@Büro", peers, for_peer=peers[0].id) == "Büro"
    assert trust.check_name("STUDIO", peers, for_peer=peers[0].id) == "STUDIO"
    with refused(ErrorCode.ALREADY_EXISTS, peers[0].id[:12]):
        trust.check_name("Studio", peers, for_peer=peers[1].id)
    for bad in ("", "two words", "x" * 33, "a\nb", "..."):
        with refused(ErrorCode.INVALID_ARGUMENT):
            trust.check_name(bad, peers, for_peer=peers[0].id)


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("192.168.1.20:4354", "192.168.1.20:4354"),
        (" 127.0.0.1:1 ", "127.0.0.1:1"),
        ("[FD00:0:0::20]:4354", "[fd00::20]:4354"),
        ("[::1]:65535", "[::1]:65535"),
        ("[fe80::1%en0]:4354", "[fe80::1%en0]:4354"),
        ("[::ffff:10.0.0.1]:80", "10.0.0.1:80"),
        ("10.0.0.1:00080", "10.0.0.1:80"),
    ],
)  # fmt: skip
def test_an_address_has_one_form(text: str, literal: str) -> None:
    assert trust.parse_address(text) == trust.parse_address(literal) == literal


@pytest.mark.parametrize(
    "text",
    ["", "studio.local:4354", "localhost:1", "10.0.0.1", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:65536", "10.0.0.1:-1",
     "10.0.0.1:+5", "10.0.0.1:٣", "::1:4354", "[::1]", "[10.0.0.1]:80", "10.0.0.1%en0:80", "[fe80::1]:80",
     "[fd00::1%en0]:80", "[fe80::1%en 0]:80", "[fe80::1%]:80", "[fe80::1%a%b]:80", "0.0.0.0:80", "[::]:80",
     "224.0.0.1:80", "[ff02::fb]:80", "255.255.255.255:80", "010.0.0.1:80", "1.2.3:80", "10.0.0.1:80\n10.0.0.2:80",
     "unix:/tmp/x:80", "10.0.0.1:80/..", "http://10.0.0.1:80", "\x1b[2J:80"],
)  # fmt: skip
def test_what_is_no_literal_address_is_refused(text: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "192.168.1.20:4354"):
        trust.parse_address(text)


@given(st.text(st.sampled_from("0123456789abcdef.:[]%en"), max_size=40) | st.text(max_size=40))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    try:
        literal = trust.parse_address(text)
    except MeshError as refusal:
        assert refusal.code is ErrorCode.INVALID_ARGUMENT
        assert refusal.message.isprintable()
    else:
        assert trust.parse_address(literal) == literal


def test_addresses_are_few_and_the_newest_is_first() -> None:
    assert trust.with_address((), "a", 3) == ("a",)
    assert trust.with_address(("a", "b", "c"), "c", 3) == ("c", "a", "b")
    assert trust.with_address(("a", "b", "c"), "d", 3) == ("d", "a", "b")


def find(wanted: str, peers: Iterable[Peer]) -> str:
    return trust.find_peer(wanted, tuple(peers), read_id=trust.plain_id).name


def shown(peer_id: str) -> str:
    """As people see it: each 13 characters with one to check them, in groups of seven."""
    checked = "".join(peer_id[at : at + 13].upper() + "Q" for at in range(0, 52, 13))
    return "-".join(checked[at : at + 7] for at in range(0, 56, 7))


STUDIO, LAPTOP = peer("studio"), peer("Laptop")


@pytest.mark.parametrize(
    "wanted",
    ["studio", "@STUDIO", " studio ", STUDIO.id, STUDIO.id[:6], STUDIO.id[:20].upper(), shown(STUDIO.id),
     shown(STUDIO.id).lower(), shown(STUDIO.id).replace("-", ""), shown(STUDIO.id)[:7], shown(STUDIO.id)[:31]],
)  # fmt: skip
def test_a_peer_is_found(wanted: str) -> None:
    assert find(wanted, [LAPTOP, STUDIO]) == "studio"


@pytest.mark.parametrize("wanted", ["", "@", "stud", "@" + STUDIO.id, STUDIO.id[:5], STUDIO.id + "a", "\x1b[2J"])
def test_nobody_is_found_by_less_or_more(wanted: str) -> None:
    with refused(ErrorCode.NOT_FOUND, "Laptop, studio"):
        find(wanted, [LAPTOP, STUDIO])


def test_what_could_be_two_is_neither() -> None:
    twins = [replace(LAPTOP, id="abcdef" + "a" * 46), replace(STUDIO, id="abcdef" + "b" * 46)]
    with refused(ErrorCode.AMBIGUOUS, "Laptop (abcdefaaaaaa)", "studio (abcdefbbbbbb)"):
        find("abcdef", twins)
    assert find("abcdefa", twins) == "Laptop"
    # A stranger that calls itself what another's id begins with.
    thief = peer("abcdefb")
    with refused(ErrorCode.AMBIGUOUS, "studio", "abcdefb"):
        find("abcdefb", [*twins, thief])
    assert find("@abcdefb", [*twins, thief]) == "abcdefb"


def test_what_is_wrong_with_an_id_does_not_matter_when_it_is_a_name() -> None:
    def strict(text: str) -> str:
        raise MeshError(ErrorCode.INVALID_ARGUMENT, f"{text} is mistyped.")

    assert trust.find_peer("studio", [STUDIO], read_id=strict) == STUDIO
    with refused(ErrorCode.INVALID_ARGUMENT, "mistyped"):
        trust.find_peer("studia", [STUDIO], read_id=strict)
