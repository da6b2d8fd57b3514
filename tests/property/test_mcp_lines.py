"""Lines, arguments and results under whatever bytes and texts arrive."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from node.core.errors import ErrorCode, MeshError
from node.mcp_server import result_of
from node.mcp_tools import TOOLS, Arguments, Tool, digest, parse
from node.mcp_words import Said, one_line
from node.shim_streams import Lines

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
NAMES = sorted({name for tool in TOOLS.values() for name in tool.arguments.model_fields})


def fed(lines: Lines, stream: bytes, cuts: list[int]) -> list[tuple[bytes, bool]]:
    found: list[tuple[bytes, bool]] = []
    places = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    for start, end in pairwise(places):
        found += lines.feed(stream[start:end])
    return found + lines.rest()


@given(st.lists(st.binary(max_size=40)), st.lists(st.integers(min_value=0), max_size=12))
def test_lines_come_out_as_they_went_in_however_they_were_cut(given_lines: list[bytes], cuts: list[int]) -> None:
    whole = [line.replace(b"\n", b"") for line in given_lines]
    stream = b"".join(line + b"\n" for line in whole)
    assert fed(Lines(64), stream, cuts) == [(line, True) for line in whole]


@given(st.lists(st.integers(min_value=0, max_value=3_000)), st.lists(st.integers(min_value=0), max_size=12))
def test_a_line_over_the_limit_is_marked_and_its_neighbours_are_whole(sizes: list[int], cuts: list[int]) -> None:
    stream = b"".join(b"x" * size + b"\n" for size in sizes)
    found = fed(Lines(100), stream, cuts)
    assert [whole for _, whole in found] == [size <= 100 for size in sizes]
    assert all(len(line) <= 2 * Lines.KEPT + 1 for line, _ in found)


@given(st.binary(min_size=2_000, max_size=4_000), st.lists(st.integers(min_value=0), max_size=12))
def test_of_a_line_over_the_limit_both_ends_are_kept(line: bytes, cuts: list[int]) -> None:
    line = line.replace(b"\n", b"x")
    ((kept, whole),) = fed(Lines(1_000), line + b"\n", cuts)
    assert (kept, whole) == (line[: Lines.KEPT] + b"\n" + line[-Lines.KEPT :], False)


def parsed_or_refused(tool: Tool, arguments: dict[str, object]) -> Arguments | MeshError:
    try:
        return parse(tool, arguments)
    except MeshError as refused:
        return refused


@given(st.sampled_from(sorted(TOOLS)), st.dictionaries(st.sampled_from(NAMES) | st.text(), JSON, max_size=6))
def test_arguments_are_taken_or_refused_and_never_a_fault(name: str, arguments: dict[str, object]) -> None:
    tool = TOOLS[name]
    taken = parsed_or_refused(tool, arguments)
    if isinstance(taken, MeshError):
        assert taken.code is ErrorCode.INVALID_ARGUMENT
        assert "\n" not in one_line(taken.message)
    else:
        assert digest(tool, taken) == digest(tool, parse(tool, json.loads(json.dumps(arguments))))
        assert len(digest(tool, taken)) == 64


@given(text=st.text(alphabet=st.characters(exclude_categories=())), refused=st.booleans())
def test_whatever_a_peer_wrote_stands_quoted_on_one_line_and_comes_back_the_same(*, text: str, refused: bool) -> None:
    said = Said(line="The node's own.", data={"messages": [{"from": "@them", "text": text}]}, refused=refused)
    result = result_of(said, stateless=False)
    content = result["content"]
    assert isinstance(content, list)
    line, shown = (part["text"] for part in content)
    assert line == "The node's own."
    assert len(shown.splitlines()) == 1
    assert json.loads(shown)["messages"][0]["text"] == text
    json.dumps(result).encode("ascii")
