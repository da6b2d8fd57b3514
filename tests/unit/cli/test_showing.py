"""Showing a session: in a terminal, in somebody's tmux, in the node's own, and never inside itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.cli.showing import ensure_there, showing
from node.core.errors import ErrorCode, MeshError
from tests.unit.cli.twin_node import session

_ARGV = ("tmux", "-u", "-S", "/run/node/tmux.sock", "attach-session", "-t", "%7")


def test_in_a_terminal_it_is_attached_to():
    shown = showing(_ARGV, {"TERM": "xterm"})
    assert (shown.argv, shown.keys) == (_ARGV, "Ctrl-b d")


def test_in_another_tmux_the_prefix_is_pressed_twice():
    shown = showing(_ARGV, {"TMUX": "/run/tmux-501/default,1,0", "TMUX_PANE": "%7", "TERM": "tmux"})
    assert shown.argv == _ARGV
    assert shown.keys.startswith("Ctrl-b Ctrl-b d")
    assert dict(shown.environment) == {"TERM": "tmux"}


def test_in_the_nodes_own_tmux_its_client_changes_over():
    around = {"TMUX": "/run/node/tmux.sock,1,0", "TMUX_PANE": "%3"}
    shown = showing(_ARGV, around)
    assert shown.argv == ("tmux", "-S", "/run/node/tmux.sock", "switch-client", "-t", "%7")
    assert dict(shown.environment) == around


def test_a_session_of_the_node_is_in_the_nodes_tmux_though_it_has_no_tmux_variable():
    assert "switch-client" in showing(_ARGV, {}, in_session=True).argv
    between = {"TMUX": "/run/tmux-501/default,1,0"}
    assert "attach-session" in showing(_ARGV, between, in_session=True).argv


def test_a_session_is_not_shown_in_its_own_pane():
    with pytest.raises(MeshError) as refused:
        showing(_ARGV, {"TMUX": "/run/node/tmux.sock,1,0", "TMUX_PANE": "%7"})
    assert refused.value.code is ErrorCode.WRONG_STATE


def test_attach_from_inside_that_very_session_is_refused(helio, node):
    node.sessions = [session(), session("web", session_id="wwwwwwwwwwwwwww2")]
    inside = {"HELIOGRAPH_SESSION": "sssssssssssssss2"}
    assert "in this session already" in helio("attach", "@payments", env=inside).stderr
    assert "in this session already" in helio("attach", "ssssssss", env=inside).stderr
    assert "in this session already" not in helio("attach", "@web", env=inside).stderr


def test_a_terminal_that_is_gone_is_said_so_in_words_of_ours(tmp_path: Path, capfd):
    tmux = tmp_path / "tmux"
    tmux.write_text('#!/bin/sh\necho "can\'t find pane: %7" >&2\nexit 1\n', encoding="ascii")
    tmux.chmod(0o700)
    with pytest.raises(MeshError, match="ended already"):
        ensure_there(showing((str(tmux), *_ARGV[1:]), {}))
    assert capfd.readouterr() == ("", "")
