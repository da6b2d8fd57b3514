"""Signed notes as C2SP publishes them, read and written byte for byte, and what is no signed note."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core import note
from node.core.errors import ErrorCode, MeshError
from node.core.note import ED25519, ML_DSA_44, Note, Signature, TreeHead

# The example in c2sp.org/tlog-cosignature, whose first three lines and one signature are that of tlog-checkpoint.
PUBLISHED = (
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
    "\u2014 example.com/behind-the-sofa "
    "Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
    "\u2014 witness.example.com/w1 "
    "jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n"
)
HEAD = TreeHead(origin="local/node/1", size=7, root=bytes(range(32)))
LINE = Signature(name="local/node/1", key_id=b"abcd", data=b"signature")
NAMES = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=12).filter(
    lambda name: "+" not in name
)


def test_the_published_note_is_read_and_written_again() -> None:
    read = note.read(PUBLISHED)
    head = note.read_head(read.text)
    assert (head.origin, head.size) == ("example.com/behind-the-sofa", 20852163)
    assert note.encode64(head.root) == "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="
    assert [line.name for line in read.signatures] == ["example.com/behind-the-sofa", "witness.example.com/w1"]
    assert [len(line.data) for line in read.signatures] == [64, 72]
    assert read.signatures[0].key_id.hex() == "033de0ae"
    assert note.read_timed(read.signatures[1].data)[0] == 1_679_315_147
    assert note.write(read) == PUBLISHED
    assert note.head_text(head) == read.text


def test_key_ids_are_hashes_of_name_type_and_key() -> None:
    # The verifier key of Go's checksum database, sum.golang.org, as it is published.
    name, key_id, key = ["sum.golang.org", "033de0ae", "Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"]
    public = note.decode64(key)
    assert public[0] == ED25519
    assert note.key_id(name, ED25519, public[1:]).hex() == key_id
    assert note.verifier_key(name, ED25519, public[1:]) == f"{name}+{key_id}+{key}"
    assert note.key_id(name, ML_DSA_44, public[1:]).hex() != key_id


def test_what_a_second_key_signs_is_laid_out_as_published() -> None:
    signed = note.cosigned_message(HEAD, "me", 258)
    assert signed == (
        b"subtree/v1\n\x00" + b"\x02me" + bytes(6) + b"\x01\x02" + b"\x0clocal/node/1" + bytes(8) + bytes(7) + b"\x07"
    ) + bytes(range(32))
    assert note.read_timed(note.timed(258, b"s")) == (258, b"s")
    with pytest.raises(MeshError):
        note.cosigned_message(HEAD, "x" * 256, 0)


@given(
    st.lists(
        st.builds(
            Signature, name=NAMES, key_id=st.binary(min_size=4, max_size=4), data=st.binary(min_size=1, max_size=70)
        ),
        min_size=1,
        max_size=16,
    ),
    st.integers(0, 2**53 - 1),
    st.binary(min_size=32, max_size=32),
)
def test_what_is_written_is_read(signatures: list[Signature], size: int, root: bytes) -> None:
    head = TreeHead(origin="a/b/1", size=size, root=root)
    written = note.write(Note(text=note.head_text(head), signatures=tuple(signatures)))
    read = note.read(written)
    assert read.signatures == tuple(signatures)
    assert note.read_head(read.text) == head


def test_the_signatures_come_after_the_last_empty_line() -> None:
    made = Note(text="one\n\ntwo\n", signatures=(LINE,))
    assert note.read(note.write(made)) == made


ROOT = "A" * 43 + "=\n"
GOOD = note.write(Note(text=note.head_text(HEAD), signatures=(LINE,)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "text\n",
        "text\n\n",
        GOOD[:-1],
        GOOD + "\n",
        GOOD.replace("\u2014", "-"),
        GOOD.replace("\u2014 ", "\u2014"),
        GOOD.replace("local/node/1 ", "local/no de/1 "),
        GOOD.replace("local/node/1 ", "local+node/1 "),
        GOOD.replace("local/node/1 ", " "),
        GOOD.replace("\n\n", "\n"),
        GOOD.replace("7", "7\r"),
        GOOD.replace("7", "7\x00"),
        GOOD + "\u2014 x YWJjZA==\n",
        GOOD + "\u2014 x !!!!\n",
        GOOD + "\u2014 x YWJjZGV=\n",
        GOOD + "\u2014 x YWJj ZGVm\n",
        GOOD + "\u2014 x YWJjZGU=\n" * note.MAX_SIGNATURES,
        GOOD.replace("7", "\udc80"),
        "x" * note.MAX_NOTE_BYTES + GOOD,
    ],
    ids=range(21),
)
def test_what_is_no_signed_note(text: str) -> None:
    with pytest.raises(MeshError) as refused:
        note.read(text)
    assert refused.value.code is ErrorCode.TAMPERED


@pytest.mark.parametrize(
    "text",
    [
        "a/1\n7\n",
        "a/1\n07\n" + ROOT,
        "a/1\n-7\n" + ROOT,
        "a/1\n7\nAAAA\n",
        "a b\n7\n" + ROOT,
        "a/1\n7\n" + ROOT + "more\n",
        "a/1\n7\n" + "A" * 42 + "B=\n",
        "a/1\n99999999999999999\n" + ROOT,
        "a/1\n7\n" + ROOT[:-1],
    ],
    ids=range(9),
)
def test_what_is_no_checkpoint(text: str) -> None:
    with pytest.raises(MeshError):
        note.read_head(text)


def test_what_would_read_otherwise_is_not_written() -> None:
    for bad in (
        Note(text="no end", signatures=(LINE,)),
        Note(text="x\n", signatures=(replace(LINE, name="a b"),)),
        Note(text="x\n", signatures=()),
    ):
        with pytest.raises(MeshError) as refused:
            note.write(bad)
        assert refused.value.code is ErrorCode.INVALID_ARGUMENT
    with pytest.raises(MeshError):
        note.read_timed(b"12345678")
