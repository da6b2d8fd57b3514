"""A JSON document which is changed means what was asked for, keeps its comments, and comes back byte for byte."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from node.core import json_text
from node.core.json_text import Json

KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | KEYS
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
LAYOUTS = st.sampled_from([None, 1, 2, 4, "\t"])
BLANKS = st.sampled_from(["", " ", "\n", "\t \n", "// note }\n", "/* , */", " // {\n\t"])
NEW = "a key of ours"


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Json]]:
    """An object as some program may have written it."""
    value = draw(OBJECTS)
    text = json.dumps(value, ensure_ascii=draw(st.booleans()), indent=draw(LAYOUTS))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))) + draw(st.sampled_from(["", "\n"])), value


@st.composite
def commented(draw: st.DrawFn) -> tuple[str, dict[str, Json]]:
    """An object as a person may have written it: with comments and blanks anywhere, and a comma at the end."""
    value = draw(OBJECTS)
    # No sign of the syntax occurs in a text of these keys and values once they are tokens of their own.
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\[\]{},:\s"]+', json.dumps(value))
    written = [draw(BLANKS)]
    for before, token in zip(["", *tokens], tokens, strict=False):
        if token in "]}" and before not in "[{" and draw(st.booleans()):
            written.append(",")
        written += [token, draw(BLANKS)]
    return "".join(written), value


@given(documents() | commented())
def test_a_document_is_read_as_it_was_meant(document: tuple[str, dict[str, Json]]) -> None:
    text, value = document
    assert json_text.parse(text) == value


@given(documents() | commented(), VALUES)
def test_what_is_put_is_there_and_nothing_else_has_changed(document: tuple[str, dict[str, Json]], new: Json) -> None:
    text, value = document
    changed = json_text.put(text, [NEW, "inner"], new)
    assert json_text.parse(changed) == {**value, NEW: {"inner": new}}
    assert json_text.parse(json_text.put(changed, [NEW], 1)) == {**value, NEW: 1}


@given(documents(), VALUES)
def test_what_is_put_and_dropped_leaves_no_trace(document: tuple[str, dict[str, Json]], new: Json) -> None:
    text, value = document
    assert json_text.drop(json_text.put(text, [NEW], new), [NEW]) == (text if value else re.sub(r"\{\s*\}", "{}", text))


@given(commented(), VALUES)
def test_comments_survive(document: tuple[str, dict[str, Json]], new: Json) -> None:
    text, value = document
    comments = re.compile(r"// note }|// \{|/\* , \*/")
    plain = comments.findall(text)
    changed = json_text.put(text, [NEW], new)
    back = json_text.drop(changed, [NEW])
    strings = len(comments.findall(json.dumps(new, ensure_ascii=False)))
    assert len(comments.findall(changed)) == len(plain) + strings
    assert comments.findall(back) == plain
    assert json_text.parse(back) == value


@given(commented(), st.data())
def test_any_member_can_be_dropped(document: tuple[str, dict[str, Json]], data: st.DataObject) -> None:
    text, value = document
    if value:
        key = data.draw(st.sampled_from(sorted(value)))
        assert json_text.parse(json_text.drop(text, [key])) == {k: v for k, v in value.items() if k != key}


@given(documents(), VALUES, VALUES)
def test_items_are_appended_replaced_and_dropped(document: tuple[str, dict[str, Json]], one: Json, two: Json) -> None:
    text, value = document
    first = json_text.append(text, [NEW], one)
    both = json_text.append(first, [NEW], two)
    assert json_text.parse(both) == {**value, NEW: [one, two]}
    assert json_text.parse(json_text.put(both, [NEW, 0], two)) == {**value, NEW: [two, two]}
    assert json_text.drop(both, [NEW, 1]) == first
    assert json_text.parse(json_text.drop(both, [NEW, 0])) == {**value, NEW: [two]}
