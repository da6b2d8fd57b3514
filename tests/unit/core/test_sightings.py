"""The table of what the network says: what is believed far enough to be shown, and that nobody can fill it."""

from __future__ import annotations

import pytest

from node.core.limits import Limits
from node.core.mesh import Sighting
from node.core.sightings import NAME_CHARS, TEXT_BYTES, Claims, Heard, SightingTable, claims, text_of

A, B, OWN = "a" * 16, "b" * 16, "0" * 16
S = 1_000_000


def hexed(number: int) -> str:
    return f"{number:016x}"


def table(*, limits: Limits | None = None, keep: frozenset[str] = frozenset()) -> SightingTable:
    return SightingTable(own=OWN, limits=limits or Limits(), keep=keep.__contains__)


def whole(instance: str, *addresses: str, port: int = 4354, name: str = "") -> Heard:
    return Heard(
        instance=instance, port=port, text=text_of(instance, "0.1.0", name), addresses=addresses or ("10.0.0.1",)
    )


def hear(at: SightingTable, heard: Heard, *, now: float = 100) -> bool:
    return at.hear(heard, now_us=int(now * S), wall_us=int((1_000 + now) * S))


def addresses(at: SightingTable, instance: str) -> tuple[str, ...]:
    found = at.sighting(instance)
    return found.addresses if found is not None else ()


def test_what_is_announced_is_shown() -> None:
    at = table()
    assert hear(at, whole(A, "fe80::1%en0", "10.0.0.1", name="Ada's Mac"))
    assert at.shown() == {
        A: Sighting(
            prefix=A,
            version="0.1.0",
            addresses=("10.0.0.1:4354", "[fe80::1%en0]:4354"),
            seen_us=1_100 * S,
            name="Ada's Mac",
        )
    }
    assert at.ignored == 0


def test_what_comes_in_pieces_is_shown_once_it_is_whole() -> None:
    at = table()
    for piece in (
        Heard(instance=A),
        Heard(instance=A, port=4354),
        Heard(instance=A, text=text_of(A, "0.1.0", "")),
    ):
        assert not hear(at, piece)
        assert at.shown() == {}
    assert hear(at, Heard(instance=A, addresses=("10.0.0.1",)))
    assert addresses(at, A) == ("10.0.0.1:4354",)


def test_an_address_of_nobody_known_is_not_kept() -> None:
    at = table()
    assert not hear(at, Heard(instance=A, addresses=("10.0.0.1",)))
    assert len(at) == 0
    assert at.ignored == 0


def test_the_node_itself_is_never_listed() -> None:
    at = table()
    assert not hear(at, whole(OWN))
    assert len(at) == 0


@pytest.mark.parametrize(
    "heard",
    [
        whole("A" * 16), whole("a" * 15), whole("a" * 17), whole(""), whole("g" * 16), whole("../../../etc/pas"),
        whole(A, port=0), whole(A, port=65_536), whole(A, port=-1),
        Heard(instance=A, text=text_of(B, "0.1.0", "")),
        Heard(instance=A, text=b""),
        Heard(instance=A, text=b"\xff"),
        Heard(instance=A, text=text_of(A, "0.1.0", "") + b"\x05v=1"),
        Heard(instance=A, text=text_of(A, "x" * 33, "")),
        Heard(instance=A, text=text_of(A, "1\x1b[2J", "")),
        Heard(instance=A, text=text_of(A, "", "")),
        Heard(instance=A, text=text_of(A, "0.1.0", "") + (b"\xff" + b"x" * 255) * 2),
    ],
)  # fmt: skip
def test_the_malformed_is_ignored_and_counted(heard: Heard) -> None:
    at = table()
    assert not hear(at, heard)
    assert (len(at), at.ignored) == (0, 1)


def test_malformed_addresses_are_left_out_and_counted() -> None:
    at = table()
    hear(at, whole(A, "10.0.0.1", "127.0.0.1", "224.0.0.1", "nonsense", "::"))
    assert addresses(at, A) == ("10.0.0.1:4354",)
    assert at.ignored == 4


def test_a_link_local_address_needs_a_scope_and_keeps_the_one_it_has() -> None:
    at = table()
    hear(at, whole(A, "fe80::1"))
    assert at.shown() == {}
    # That its packet came in by IPv4 is nobody's fault.
    assert at.ignored == 0
    hear(at, whole(A, "fe80::1%en0"))
    hear(at, whole(A, "fe80::1"))
    assert addresses(at, A) == ("[fe80::1%en0]:4354",)
    hear(at, whole(A, "fe80::1%en7"))
    assert addresses(at, A) == ("[fe80::1%en7]:4354",)


def test_another_address_takes_the_place_of_the_old_one() -> None:
    at = table()
    hear(at, whole(A, "10.0.0.1", "fd00::1"), now=100)
    assert hear(at, whole(A, "10.0.0.2"), now=102)
    assert addresses(at, A) == ("10.0.0.2:4354",)


def test_what_comes_in_by_two_interfaces_adds_up() -> None:
    at = table()
    hear(at, whole(A, "10.0.0.1"), now=100)
    hear(at, whole(A, "10.1.0.1"), now=100.5)
    assert addresses(at, A) == ("10.1.0.1:4354", "10.0.0.1:4354")


def test_an_answer_without_the_port_takes_nothing_away() -> None:
    at = table()
    hear(at, whole(A, "10.0.0.1"), now=100)
    hear(at, Heard(instance=A, addresses=("fd00::1",)), now=110)
    assert addresses(at, A) == ("10.0.0.1:4354", "[fd00::1]:4354")


def test_another_port_counts_for_all_addresses() -> None:
    at = table()
    hear(at, whole(A, "10.0.0.1"))
    assert hear(at, whole(A, "10.0.0.1", port=5000))
    assert addresses(at, A) == ("10.0.0.1:5000",)


def test_the_same_again_is_news_only_after_a_silence() -> None:
    at = table()
    assert hear(at, whole(A), now=100)
    assert not hear(at, whole(A), now=100.2)
    assert not hear(at, whole(A), now=104)
    # It may have started anew: whoever waits to dial it need not wait any longer.
    assert hear(at, whole(A), now=110)
    assert not hear(at, Heard(instance=A, addresses=("10.0.0.1",)), now=120)


def test_only_the_best_addresses_of_each_are_kept() -> None:
    at = table(limits=Limits(peer_addresses=3))
    many = [f"fd00::{n}" for n in range(1, 400)]
    hear(at, whole(A, *many, "10.0.0.9", "fe80::1%en0"))
    found = addresses(at, A)
    assert len(found) == 3
    assert found[0] == "10.0.0.9:4354"


def test_a_goodbye_removes_it_once() -> None:
    at = table()
    hear(at, whole(A))
    assert at.gone(A)
    assert not at.gone(A)
    assert at.shown() == {}
    assert not at.gone(B)


def test_a_forgotten_address_is_back_when_it_is_announced_again() -> None:
    at = table()
    hear(at, whole(A, "10.0.0.1", "fe80::1%en0"))
    assert at.forget(A, "10.0.0.1:4354")
    assert not at.forget(A, "10.0.0.1:4354")
    assert not at.forget(A, "10.0.0.2:4354")
    assert not at.forget(B, "10.0.0.1:4354")
    assert addresses(at, A) == ("[fe80::1%en0]:4354",)
    assert at.forget(A, "[fe80::1%en0]:4354")
    assert at.shown() == {}
    assert hear(at, whole(A, "10.0.0.1"))
    assert addresses(at, A) == ("10.0.0.1:4354",)


def test_what_was_silent_for_long_is_dropped() -> None:
    at = table()
    hear(at, whole(A), now=100)
    hear(at, Heard(instance=B), now=100)
    hear(at, whole(hexed(1)), now=200)
    # What was never shown is dropped without a word.
    assert at.expire(150 * S) == (A,)
    assert len(at) == 1


def test_ten_thousand_names_do_not_push_out_the_peers() -> None:
    peers = frozenset(hexed(n) for n in range(1, 21))
    at = table(keep=peers)
    for peer in peers:
        hear(at, whole(peer))
    for n in range(10_000):
        hear(at, whole(hexed(1 << 40 | n), f"10.1.{n % 250}.1"))
    assert len(at) == Limits().sightings
    assert peers <= at.shown().keys()
    # Of strangers the newest are there, the newest first.
    assert next(iter(at.shown())) == hexed(1 << 40 | 9_999)
    assert hexed(1 << 40) not in at.shown()


def test_more_peers_than_fit_are_kept_by_the_newest_and_strangers_then_have_no_room() -> None:
    peers = frozenset(hexed(n) for n in range(10))
    at = table(limits=Limits(sightings=4), keep=peers)
    for n in range(10):
        hear(at, whole(hexed(n)), now=100 + n)
    assert sorted(at.shown()) == [hexed(n) for n in range(6, 10)]
    assert not hear(at, whole(A))
    assert A not in at.shown()


def test_who_says_too_little_is_asked_a_few_times_peers_first() -> None:
    at = table(keep=frozenset({B}))
    for instance in (A, B, hexed(1)):
        hear(at, Heard(instance=instance))
    hear(at, whole(hexed(2)))
    assert at.incomplete(2) == (B, A)
    assert at.incomplete(8) == (B, A, hexed(1))
    for _ in range(5):
        at.incomplete(8)
    assert at.incomplete(8) == ()


def test_the_text_says_the_version_the_fingerprint_and_a_name_only_when_told_to() -> None:
    assert text_of(A, "0.1.0", "") == b"\x07v=0.1.0\x12f=" + A.encode()
    assert claims(A, text_of(A, "0.1.0", "")) == Claims(version="0.1.0", name="")
    long = text_of(A, "0.1.0", "ä" * 1_000)
    assert len(long) < TEXT_BYTES
    told = claims(A, long)
    assert told is not None
    assert len(told.name) == NAME_CHARS


def test_a_strangers_name_is_shown_on_one_line_with_nothing_hidden() -> None:
    told = claims(A, text_of(A, "0.1.0", "Mac\n\x1b[2J\u202eevil"))
    assert told is not None
    assert told.name == r"Mac\x0a\x1b[2J\u{202e}evil"
