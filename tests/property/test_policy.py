"""Names and waits: what must hold for every nickname and every graph."""

from __future__ import annotations

import itertools
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from node.core import policy
from node.core.errors import ErrorCode, MeshError
from node.core.model import Address

PLACES = st.integers(0, 7).map(lambda number: Address(node="n", session=str(number)))
GRAPHS = st.dictionaries(PLACES, st.lists(PLACES, max_size=4), max_size=8)
# A few letters of each kind that names are made of, so that examples are names more often than not.
NICKS = st.text(alphabet=st.one_of(st.sampled_from("aZ9éß.-_ſıΣςḀ\u0301\u0345\u0323ﬁा"), st.characters()), max_size=40)


@given(NICKS)
def test_a_nickname_is_clean_or_refused(wanted: str) -> None:
    try:
        nick = policy.clean_nickname(wanted)
    except MeshError as refused:
        assert refused.code is ErrorCode.INVALID_ARGUMENT
        return
    assert policy.clean_nickname(nick) == nick
    assert policy.clean_nickname(f"@{nick}") == nick
    assert 1 <= len(nick) <= policy.NICKNAME_MAX
    assert nick.isprintable()
    assert not any(char.isspace() for char in nick)


@given(NICKS)
def test_the_key_does_not_depend_on_how_a_name_was_typed(nick: str) -> None:
    key = policy.nickname_key(nick)
    for form in ("NFC", "NFD"):
        assert policy.nickname_key(unicodedata.normalize(form, nick)) == key
    assert policy.nickname_key(key) == key


@given(NICKS)
def test_names_that_are_the_same_look_the_same(nick: str) -> None:
    assert policy.nickname_skeleton(nick) == policy.nickname_skeleton(unicodedata.normalize("NFD", nick))


def reaches(start: Address, goal: Address, waits: dict[Address, list[Address]]) -> bool:
    known = {start}
    while True:
        further = {then for one in known for then in waits.get(one, [])} | known
        if further == known:
            return goal in known
        known = further


@given(PLACES, PLACES, GRAPHS)
def test_a_cycle_is_found_exactly_when_there_is_one(
    start: Address, target: Address, waits: dict[Address, list[Address]]
) -> None:
    path = policy.find_cycle(start, target, waits)
    assert bool(path) is reaches(target, start, waits)
    if path:
        assert (path[0], path[-1]) == (target, start)
        assert all(then in waits[one] for one, then in itertools.pairwise(path))
        assert len(set(path)) == len(path)


@given(st.text(), st.integers(2, 80))
def test_a_title_fits_and_is_one_line(text: str, limit: int) -> None:
    title = policy.derive_title(text, limit=limit)
    assert title == "untitled" or len(title) <= limit
    assert len(title.splitlines()) == 1
    assert title.strip() == title
