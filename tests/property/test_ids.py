"""Ids: any bytes give an id, any long enough part of one names it, and no text is a surprise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.errors import ErrorCode, MeshError
from node.core.ids import ID_BYTES, is_id, make_id, match_prefix, short

IDS = st.binary(min_size=ID_BYTES, max_size=ID_BYTES).map(make_id)


@given(st.lists(st.binary(min_size=ID_BYTES, max_size=ID_BYTES), unique=True))
def test_other_bytes_give_another_id(many: list[bytes]) -> None:
    made = [make_id(raw) for raw in many]
    assert len(set(made)) == len(made)
    assert all(is_id(one) and one.startswith(short(one)) for one in made)


@given(st.lists(IDS, min_size=1, unique=True), st.data())
def test_a_prefix_names_exactly_what_it_begins(ids: list[str], data: st.DataObject) -> None:
    wanted = data.draw(st.sampled_from(ids))[: data.draw(st.integers(6, 16))]
    begun = [one for one in ids if one.startswith(wanted)]
    if len(begun) == 1:
        assert match_prefix(wanted, ids, what="exchange") == begun[0]
    else:
        with pytest.raises(MeshError) as refused:
            match_prefix(wanted, ids, what="exchange")
        assert refused.value.code is ErrorCode.AMBIGUOUS


@given(st.text(), st.lists(IDS))
def test_any_text_is_an_id_of_the_list_or_refused(wanted: str, ids: list[str]) -> None:
    try:
        found = match_prefix(wanted, ids, what="exchange")
    except MeshError as refused:
        assert refused.code in {ErrorCode.INVALID_ARGUMENT, ErrorCode.NOT_FOUND, ErrorCode.AMBIGUOUS}
    else:
        assert found in ids
        assert found.startswith(wanted.strip().lower())
