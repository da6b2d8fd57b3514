"""A person is pointed to commands, never to an agent's tools: the table holds every phrase of the sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import node
from node.cli.person_words import for_person
from node.core import policy
from node.core.errors import ErrorCode, MeshError
from node.core.ids import match_prefix

_NODE = Path(node.__file__).parent
_SOURCES = ("core/policy.py", "core/ids.py", "core/delegation.py", "core/workspace.py", "broker.py", "openings.py")
_TOOLS = re.compile(
    r"list_peers|list_delegations|read_inbox|close_delegation|worktree_\w+"
    r"|[Cc]all (?:wait|answer|ask|deliver|report|steer|cancel|request|delegate)\b"
)


def _texts(path: Path) -> Iterator[str]:
    """What the source may say: its strings with `answer` for what is put in, without docstrings and bare names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside: set[int] = set()
    for found in ast.walk(tree):
        if isinstance(found, ast.Expr):
            inside.update(id(part) for part in ast.walk(found.value) if isinstance(part, ast.Constant))
        if isinstance(found, ast.JoinedStr):
            inside.update(id(part) for part in found.values)
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "answer" for part in found.values)
        elif isinstance(found, ast.Constant) and isinstance(found.value, str) and id(found) not in inside:
            yield found.value


def _phrases() -> list[str]:
    return [text for name in _SOURCES for text in _texts(_NODE / name) if " " in text and _TOOLS.search(text)]


def test_the_sources_hold_phrases_for_agents():
    assert len(_phrases()) >= 10


@pytest.mark.parametrize("text", _phrases())
@pytest.mark.parametrize("command", ["attach", "steer", "approvals"])
def test_every_phrase_for_agents_has_words_for_a_person(text, command):
    said = for_person(text, command)
    assert not _TOOLS.search(said)
    assert "{listed}" not in said


@pytest.mark.parametrize(
    ("what", "command", "listed"),
    [
        ("session", "attach", "`helio sessions`"),
        ("open approval", "approvals", "`helio approvals`"),
        ("open question", "answer", "`helio requests` or `helio delegations`"),
    ],
)
@pytest.mark.parametrize("wanted", ["aaaaaaaa", "!"])
def test_an_id_that_is_wrong_points_to_the_list_of_its_kind(what, command, listed, wanted):
    with pytest.raises(MeshError) as refused:
        match_prefix(wanted, (), what=what)
    assert listed in for_person(refused.value.message, command)


def test_an_unknown_nickname_points_to_the_sessions():
    with pytest.raises(MeshError) as refused:
        policy.find_session("@nobody", ())
    assert for_person(refused.value.message).endswith("ignore case; see `helio sessions`.")


def test_what_is_closed_so_already_is_said_to_be_so(helio, node):
    said = "accept does not fit exchange rqqqqqqq, which is Accepted: it is closed; open a new exchange for more."
    node.refusal = MeshError(ErrorCode.WRONG_STATE, said)
    assert helio("close", "rqqqqqqq", "--accept").stderr == (
        "helio: Exchange rqqqqqqq is already accepted; nothing was changed.\n"
    )
    assert for_person(said.replace("accept ", "reject ", 1)) == said.replace("accept ", "reject ", 1)
