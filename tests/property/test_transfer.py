"""Any text has a safe name, any entry a header, and no other bytes are a header."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from node.core.escape import escape
from node.core.limits import Limits
from node.core.transfer import NAME_BYTES, Entry, archive_size, entry_of, header, header_size, name_key, safe_name

# Half of it from what makes names dangerous, or the interesting ones never come together.
NASTY = st.sampled_from(
    [*"/\\.-~ \n\0%$", "\u202e", "\u0301", "e", "\ud800", "con", "..", "\u2044", "é", "ﬀ", "İ", "😀"]
)
TEXTS = st.text() | st.lists(NASTY | st.characters(), max_size=60).map("".join)
PATHS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1), min_size=1).map("/".join)
ENTRIES = st.builds(Entry, path=PATHS, size=st.integers(0, 8**11 - 1), folder=st.booleans())


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_any_text_has_a_safe_name(raw: str, others: list[str]) -> None:
    taken: list[str] = []
    for other in others:
        taken.append(safe_name(other, taken))
    name = safe_name(raw, taken)
    assert 0 < len(name.encode()) <= NAME_BYTES
    assert not set(name) & set("/\\\0\n%$*?\"'`;&|<>:")
    assert name[0] not in ".-~ "
    assert name[-1] not in ". "
    assert escape(name) == name
    assert unicodedata.is_normalized("NFC", name)
    assert name_key(name) not in {name_key(one) for one in taken}


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_a_safe_name_stays_as_it_is(raw: str, taken: list[str]) -> None:
    name = safe_name(raw, taken)
    assert safe_name(name, taken) == name
    assert safe_name(raw, taken) == name


@given(TEXTS)
def test_one_name_can_be_taken_many_times(raw: str) -> None:
    taken: list[str] = []
    for _ in range(12):
        taken.append(safe_name(raw, taken))
    assert len({name_key(one) for one in taken}) == 12


@given(ENTRIES)
def test_a_header_says_its_entry(entry: Entry) -> None:
    head = header(entry)
    assert entry_of(head) == entry
    assert archive_size([entry]) == len(head) + entry.size + -entry.size % 512 + 1024
    assert header_size(head[:512], Limits(folder_path_bytes=1_000_000)) == len(head)


@given(ENTRIES, st.data())
def test_bytes_that_are_read_as_an_entry_are_its_header(entry: Entry, data: st.DataObject) -> None:
    head = bytearray(header(entry))
    for _ in range(data.draw(st.integers(1, 3))):
        head[data.draw(st.integers(0, len(head) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = entry_of(bytes(head))
    except ValueError:
        return
    assert header(found) == bytes(head)
