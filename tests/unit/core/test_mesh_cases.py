"""Situations of discovery from public reports, end to end through the rules: several cards, and a VPN."""

from __future__ import annotations

from node.core.lan import Interface, announced, fit, rank
from node.core.limits import Limits
from node.core.sightings import Heard, SightingTable, text_of

KEY = "0123456789abcdef"
ME = "fedcba9876543210"


def card(name: str, address: str, *, point_to_point: bool = False) -> Interface:
    return Interface(
        name=name, index=1, addresses=(address,), up=True, multicast=True, point_to_point=point_to_point, loopback=False
    )


def test_a_node_with_ethernet_wifi_and_a_vpn_says_two_addresses_and_not_the_vpns() -> None:
    """python-zeroconf/python-zeroconf#54: each interface counted as a network of its own, a VPN's among them."""
    cards = (
        card("en0", "192.168.1.5"),
        card("en7", "192.168.1.6"),
        card("utun4", "100.64.0.7", point_to_point=True),
        card("awdl0", "fe80::1"),
    )
    chosen = fit(cards, ())
    assert [one.name for one in chosen] == ["en0", "en7"]
    assert sorted(announced(chosen, Limits().peer_addresses)) == ["192.168.1.5", "192.168.1.6"]


def test_the_same_node_heard_three_times_is_one_with_its_best_address_first() -> None:
    table = SightingTable(own=ME, limits=Limits(), keep=lambda prefix: prefix == KEY)
    text = text_of(KEY, "0.1.0", "")
    for second, address in enumerate(("fe80::2%en0", "192.168.1.5", "fd00::5")):
        heard = Heard(instance=KEY, port=4354, text=text, addresses=(address,))
        table.hear(heard, now_us=second * 300_000, wall_us=1)
    (only,) = table.shown().values()
    assert only.addresses[0] == "192.168.1.5:4354"
    assert len(only.addresses) == 3
    ranks = [rank(address) for address in ("192.168.1.5", "fd00::5", "fe80::2%en0")]
    assert None not in ranks
    assert ranks == sorted(ranks, key=lambda one: one or 0)
