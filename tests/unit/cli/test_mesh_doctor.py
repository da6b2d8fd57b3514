"""What `helio doctor` finds of a node among others."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from node.cli import checks
from node.cli.checks import Level
from node.core.links import end_of_call
from node.core.mesh import Link, LinkState
from node.core.views_mesh import IdentityView, MeshView, PeerView
from node.platform.local_network import DARWIN_EHOSTUNREACH, darwin_problem
from tests.unit.cli.twin_node import peer

DAY_US = 86_400 * 1_000_000


def identity(expires_us: int) -> IdentityView:
    return IdentityView(
        id="m" * 52, shown="MMMMMMM-MMMMMMM", spki="ab" * 32, expires_us=expires_us, former_keys=0, in_keychain=False
    )


def mesh(**changes: object) -> MeshView:
    made = MeshView(port=4_354, discovery=True, why="", interfaces=("eth0", "wlan0"), peers=(), found=())
    return replace(made, **changes)


def linked(name: str, state: LinkState, why: str = "") -> PeerView:
    return PeerView(
        id="a" * 52, shown="AAAAAAA", name=name, addresses=(), given=frozenset(), got=frozenset(), paired_us=1,
        seen_us=None, link=Link(state=state, since_us=1, why=why),
    )  # fmt: skip


def test_a_certificate_that_ends_is_told_in_time():
    now = checks.WRITTEN_US
    levels = [checks.certificate(identity(now + days * DAY_US), now).level for days in (-1, 0, 30, 300)]
    assert levels == [Level.FAIL, Level.FAIL, Level.WARN, Level.OK]
    ending = checks.certificate(identity(now + DAY_US), now)
    assert ending.found == "its certificate ends on 2026-01-02"
    # A node that starts renews what is past half its life, for the same key.
    assert ending.remedy == "Run: helio down && helio up, which renews it"
    over = checks.certificate(identity(now), now)
    assert over.remedy == "Run: helio down && helio up, which renews it; then pair again with peers that refuse it"


def test_the_port_says_why_it_is_closed():
    assert "port 4354" in checks.mesh_port(mesh(), listen=True).found
    assert checks.mesh_port(mesh(port=None, why="of discovery"), listen=False).level is Level.OK
    taken = checks.mesh_port(mesh(port=None, why="Another program may have that port"), listen=True)
    assert (taken.level, taken.found) == (Level.WARN, "Another program may have that port")
    assert checks.mesh_port(mesh(port=None), listen=True).level is Level.WARN


def test_discovery_is_on_or_off_for_a_reason():
    assert checks.discovery(mesh(), wanted=True, listen=True).found == "on, over eth0 and wlan0"
    assert checks.discovery(mesh(discovery=False), wanted=False, listen=True).level is Level.OK
    assert checks.discovery(mesh(interfaces=()), wanted=True, listen=True).found == "on, over no interface yet"
    for now in (mesh(discovery=False, why="port 5353 is taken"), mesh(why="port 5353 is taken")):
        found = checks.discovery(now, wanted=True, listen=True)
        assert (found.level, "port 5353 is taken" in found.found) == (Level.WARN, True)
        assert "helio peers address" in found.remedy
    # What is said of the port is not said of discovery as well.
    assert checks.discovery(mesh(port=None, why="port 4354"), wanted=True, listen=True).level is Level.OK
    assert checks.discovery(mesh(port=None, why="port 5353"), wanted=True, listen=False).level is Level.WARN
    assert checks.discovery(mesh(discovery=False), wanted=True, listen=True).level is Level.WARN


def test_peers_are_counted_and_refused_ones_told_with_what_to_do():
    assert [f.level for f in checks.peers(())] == [Level.OK]
    away = linked("cellar", LinkState.DOWN, "nothing listens at 192.0.2.9:4354")
    (counted,) = checks.peers([linked("studio", LinkState.UP), away])
    assert (counted.level, counted.found) == (Level.OK, "1 of 2 linked; not reached: cellar")
    reset, early, other = (
        end_of_call(status="UNAVAILABLE", text=text, reason=None, address="192.0.2.7:4354", was_up=False)
        for text in ("Socket closed", "certificate is not yet valid", "CERTIFICATE_VERIFY_FAILED")
    )
    _, unclear, clock, key = checks.peers(
        [linked("attic", LinkState.REFUSED, end.why) for end in (reset, early, other)]
    )
    assert {unclear.level, clock.level, key.level} == {Level.WARN}
    assert ["clocks" in found.remedy for found in (unclear, clock, key)] == [True, True, False]
    assert ["helio peers unpair attic" in found.remedy for found in (unclear, clock, key)] == [True, False, True]
    assert "192.0.2.7:4354" in unclear.found
    full = end_of_call(status="UNAVAILABLE", text="", reason="wrong_tls", address="", was_up=False)
    assert "helio peers" in checks.peers([linked("x", LinkState.REFUSED, full.why)])[1].remedy
    (all_away,) = checks.peers([linked(f"n{at}", LinkState.DOWN) for at in range(9)])
    assert all_away.found == "0 of 9 linked; not reached: n0, n1, n2 and others"
    many = checks.peers([linked("x", LinkState.REFUSED)] * 9)
    assert (len(many), many[-1].found) == (5, "6 more refused")


def test_macos_local_network_is_told_as_the_node_came_upon_it():
    assert checks.local_network("linux", mesh(why="Local Network")) is None
    why = darwin_problem(DARWIN_EHOSTUNREACH, uid=501)
    assert why is not None
    away = end_of_call(status="UNAVAILABLE", text="No route to host", reason=None, address="192.0.2.7:1", was_up=False)
    levels = []
    for now in (
        None, mesh(), mesh(discovery=False), mesh(why=why), mesh(peers=(linked("x", LinkState.DOWN, away.why),)),
    ):  # fmt: skip
        found = checks.local_network("darwin", now)
        assert found is not None
        levels.append(found.level)
    assert levels == [Level.OK, Level.OK, Level.OK, Level.WARN, Level.WARN]


def test_doctor_looks_at_the_mesh_of_a_node_that_runs(helio, node, home):
    node.mesh.peers.extend([peer(), peer("attic\x1b[2J", link="refused", link_why="unpaired\u202e")])
    shown = helio("doctor").stdout
    assert "ok    identity       MMMMMMM, certificate good until 2036-09-18" in shown
    assert "ok    key            kept in the macOS Keychain" in shown
    assert "ok    mesh port      peers are served at port 4354" in shown
    assert "ok    discovery      on, over eth0" in shown
    assert "ok    peers          1 of 2 linked" in shown
    assert "warn  peer           attic\\x1b[2J is refused: unpaired\\u{202e}" in shown
    (home / "config.toml").write_text("[mesh]\nlisten = false\ndiscovery = false\n", encoding="utf-8")
    node.mesh.port, node.mesh.discovery = 0, False
    shown = helio("doctor").stdout
    assert "ok    mesh port      closed, as config.toml says" in shown
    assert "ok    discovery      off, as config.toml says" in shown


@pytest.mark.parametrize(
    "text", ["mesh = 3", "limits = 3", "[mesh]\npairing_port = 99999", '[mesh]\nhost = "nonsense"']
)
def test_doctor_tells_settings_that_cannot_be(helio, node, home, text):
    (home / "config.toml").write_text(text, encoding="utf-8")
    result = helio("doctor")
    assert result.exit_code == 1
    assert f"fail  settings       {home / 'config.toml'}: " in result.stdout
    assert "The node does not start before that is mended." in result.stdout
    # What runs is looked at all the same.
    assert "ok    mesh port " in result.stdout


def test_doctor_without_a_node_says_nothing_of_the_mesh(helio, home):
    shown = {check["check"] for check in json.loads(helio("doctor", "--json").stdout)["checks"]}
    assert not shown & {"mesh", "mesh port", "discovery", "peers", "identity"}
