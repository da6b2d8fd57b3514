"""Colour and progress only where a person looks; JSON that no terminal takes for a command."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path

import pytest

from node.cli.console import Console, Tone, document, plain
from node.core.errors import MeshError


def test_json_holds_no_character_that_a_terminal_acts_on():
    text = "\x1b[2J\x7f\x9b\u2028\u202e\ud800é\n"
    shown = document({"text": text})
    assert shown.isascii()
    assert shown.isprintable()
    assert json.loads(shown)["text"] == text


def test_json_of_values():
    class Word(Enum):
        ONE = "one"

    assert plain({"a": (Word.ONE, b"\x01", Path("/x"), None, True, 1)}) == {"a": ["one", "01", "/x", None, True, 1]}
    with pytest.raises(TypeError, match="type has no form"):
        plain(MeshError)


def test_colour_is_only_for_terminals(capsys):
    plain_one = Console(columns=None, colour=False, live=False)
    coloured = Console(columns=80, colour=True, live=False)
    assert plain_one.tint("x", Tone.BAD) == plain_one.strong("x") == "x"
    assert coloured.tint("x", Tone.BAD) == "\x1b[31mx\x1b[0m"
    found = Console.of_streams()
    assert (found.columns, found.colour, found.live) == (None, False, False)


def test_progress_is_one_line_that_goes_away(capsys):
    with Console(columns=80, colour=True, live=True).progress() as line:
        line.show("one")
        line.show("one")
        line.show("two")
    assert capsys.readouterr() == ("", "\r\x1b[Kone\r\x1b[Ktwo\r\x1b[K")


def test_progress_is_silent_where_nobody_looks(capsys):
    with Console(columns=None, colour=False, live=False).progress() as line:
        line.show("one")
    assert capsys.readouterr() == ("", "")
