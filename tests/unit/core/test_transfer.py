"""Names to land as, amounts, refusals, and archives in their one form."""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from node.core import transfer
from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits
from node.core.transfer import Attachment, Entry, Members, Problem, safe_name

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "file_names.json").read_text("utf-8"))
LIMITS = Limits()
GOOD = Attachment(name="a.txt", sha256="0a" * 32, size=5, folder=False, entries=0)
ENTRIES = (
    Entry(path=".git", size=0, folder=True),
    Entry(path=".git/HEAD", size=23, folder=False),
    Entry(path="d" * 100, size=512, folder=False),
    Entry(path="e" * 101, size=1, folder=False),
    Entry(path="ä", size=0, folder=True),
    Entry(path="ä/" + "ö" * 120, size=513, folder=False),
)


@pytest.mark.parametrize("vector", VECTORS["names"], ids=lambda vector: ascii(vector["raw"][:20]))
def test_a_name_lands_as(vector: dict[str, str]) -> None:
    assert safe_name(vector["raw"], ()) == vector["safe"]


@pytest.mark.parametrize("vector", VECTORS["together"])
def test_names_that_come_together_land_apart(vector: dict[str, list[str]]) -> None:
    taken: list[str] = []
    for raw in vector["raw"]:
        taken.append(safe_name(raw, taken))
    assert taken == vector["safe"]


def test_what_a_model_sees_of_a_file_is_one_line() -> None:
    line = transfer.line_of(replace(GOOD, size=12_345), "/home/me\n/inbox/a.txt")
    assert line == "a.txt: file, 12,345 bytes, sha256 0a0a0a0a0a0a, at /home/me\\x0a/inbox/a.txt"
    line = transfer.line_of(replace(GOOD, folder=True, entries=3), "/x/a.txt")
    assert line == "a.txt: folder of 3 entries, 5 bytes, sha256 0a0a0a0a0a0a, at /x/a.txt"


@pytest.mark.parametrize(
    "bad",
    [replace(GOOD, name="../a"), replace(GOOD, name="a/b"), replace(GOOD, name=""), replace(GOOD, name=".."),
     replace(GOOD, name="a\u202eb"), replace(GOOD, sha256="../../x"), replace(GOOD, sha256="0A" * 32),
     replace(GOOD, sha256="0a" * 32 + "\n"), replace(GOOD, size=-1), replace(GOOD, entries=-1)],
    ids=repr,
)  # fmt: skip
def test_an_attachment_that_no_node_describes_so_is_not_believed(bad: Attachment) -> None:
    transfer.check_attachments((GOOD,))
    with pytest.raises(MeshError) as caught:
        transfer.check_attachments((bad,))
    assert caught.value.code is ErrorCode.TAMPERED


def test_two_attachments_may_not_land_on_each_other() -> None:
    transfer.check_attachments((GOOD, replace(GOOD, name="b.txt")))
    with pytest.raises(MeshError):
        transfer.check_attachments((GOOD, replace(GOOD, name="A.TXT")))


@pytest.mark.parametrize(
    ("name", "given"),
    [("files_per_message", (21, 0, 0)), ("message_bytes", (20, 67_108_865, 0)), ("folder_entries", (1, 0, 10_001))],
)
def test_one_more_than_the_limit_is_refused_by_name(name: str, given: tuple[int, int, int]) -> None:
    transfer.check_amounts(LIMITS, files=20, size=67_108_864, entries=10_000)
    with pytest.raises(MeshError) as caught:
        transfer.check_amounts(LIMITS, files=given[0], size=given[1], entries=given[2])
    assert caught.value.code is ErrorCode.LIMIT
    assert name in caught.value.message
    assert caught.value.details["limit"] == getattr(LIMITS, name)


OUTSIDE = Problem(path="l\nk", why="lies outside", code=ErrorCode.REACH, outside="/etc/hosts")
FIFO = Problem(path="fifo", why="is a FIFO", code=ErrorCode.INVALID_ARGUMENT)


def test_an_approval_is_offered_only_when_it_would_help_with_all() -> None:
    alone = transfer.refusal([OUTSIDE, OUTSIDE])
    assert alone.code is ErrorCode.REACH
    assert alone.details["outside"] == ("/etc/hosts",)
    mixed = transfer.refusal([OUTSIDE, FIFO])
    assert mixed.code is ErrorCode.INVALID_ARGUMENT
    assert "l\\x0ak lies outside; fifo is a FIFO" in mixed.message
    assert transfer.refusal([OUTSIDE] * 21).code is ErrorCode.INVALID_ARGUMENT


def test_a_refusal_names_so_many_and_says_that_there_are_more() -> None:
    many = transfer.refusal([replace(FIFO, path=f"fifo-{number:02}") for number in range(21)])
    assert "fifo-19" in many.message
    assert "fifo-20" not in many.message
    assert "More files" in many.message


def archive() -> bytes:
    body = b"".join(transfer.header(one) + b"x" * one.size + transfer.padding(one.size) for one in ENTRIES)
    return body + transfer.ARCHIVE_END


def test_an_archive_is_a_tar_file_to_others() -> None:
    with tarfile.open(fileobj=io.BytesIO(archive()), mode="r:") as tar:
        found = tar.getmembers()
    assert [(one.name, one.size, one.isdir()) for one in found] == [(one.path, one.size, one.folder) for one in ENTRIES]
    assert {(one.uid, one.gid, one.mtime, one.mode, one.uname) for one in found} == {
        (0, 0, 0, 0o600, ""), (0, 0, 0, 0o700, ""),
    }  # fmt: skip


def test_the_size_of_an_archive_is_known_beforehand() -> None:
    assert transfer.archive_size(ENTRIES) == len(archive())
    assert transfer.archive_size(()) == 1024


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: ascii(entry.path[:8]))
def test_a_header_is_read_back(entry: Entry) -> None:
    head = transfer.header(entry)
    assert transfer.header_size(head[:512], LIMITS) == len(head)
    assert transfer.entry_of(head) == entry


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.AREGTYPE,
                                  tarfile.GNUTYPE_SPARSE, tarfile.GNUTYPE_LONGNAME, tarfile.XGLTYPE])  # fmt: skip
def test_what_is_neither_file_nor_folder_is_no_entry(kind: bytes) -> None:
    assert transfer.entry_of(changed(156, b"0")) == Entry(path="x", size=1, folder=False)
    with pytest.raises(ValueError, match="form"):
        transfer.entry_of(changed(156, kind))


@pytest.mark.parametrize(
    ("at", "data"),
    [(124, b"-0000000001"), (124, b"\x80" + bytes(11)), (157, b"/etc/passwd"), (345, b"/etc"), (100, b"0004755"),
     (108, b"0001750"), (136, b"14000000000"), (265, b"root"), (257, b"ustar  "), (510, b"x")],
)  # fmt: skip
def test_a_header_in_another_form_is_no_entry(at: int, data: bytes) -> None:
    with pytest.raises(ValueError, match=r"form|invalid literal|decode"):
        transfer.entry_of(changed(at, data))


def changed(at: int, data: bytes) -> bytes:
    """A header with `data` at `at` and a right sum."""
    head = bytearray(transfer.header(Entry(path="x", size=1, folder=False)))
    head[at : at + len(data)] = data
    head[148:156] = b"%06o\0 " % (sum(head[:148]) + 256 + sum(head[156:]))
    return bytes(head)


@pytest.mark.parametrize("size", [b"00000000000", b"77777777777", b"garbage    "])
def test_a_path_record_of_any_size_is_not_read(size: bytes) -> None:
    first = bytearray(transfer.header(Entry(path="ä", size=0, folder=True))[:512])
    first[124:135] = size
    with pytest.raises(ValueError, match=r"too long|invalid literal"):
        transfer.header_size(bytes(first), LIMITS)


def test_a_file_too_large_for_a_header_is_refused() -> None:
    transfer.header(Entry(path="x", size=8**11 - 1, folder=False))
    with pytest.raises(MeshError) as caught:
        transfer.header(Entry(path="x", size=8**11, folder=False))
    assert caught.value.code is ErrorCode.LIMIT


def test_members_belong_where_their_paths_say() -> None:
    members = Members(LIMITS)
    assert [members.add(one) for one in ENTRIES] == [tuple(one.path.split("/")) for one in ENTRIES]


@pytest.mark.parametrize(
    ("path", "why"),
    [("../x", "not a name"), ("/x", "not a name"), ("m/../../x", "not a name"), ("m//x", "not a name"),
     ("m/.", "not a name"),
     ("", "not a name"), ("n\nx", "hidden"), ("n\u202ex", "hidden"), ("n\udc80", "hidden"), ("n\\x", "backslash"),
     ("n\0", "hidden"), ("n" * 256, "255 bytes"), ("m/" + "/".join(["n" * 99] * 6), "512 bytes"), ("a", "order"),
     ("m", "order"), ("x/y", "order"), ("N", "order")],
)  # fmt: skip
def test_a_member_is_refused(path: str, why: str) -> None:
    members = Members(LIMITS)
    members.add(Entry(path="m", size=0, folder=True))
    with pytest.raises(ValueError, match=why):
        members.add(Entry(path=path, size=0, folder=False))


@pytest.mark.parametrize(("first", "second"), [("A", "a"), ("STRASSE", "straße"), ("a\u0308", "\u00e4"), ("Ä", "ä")])
def test_names_that_are_one_to_some_file_systems_cannot_both_be_members(first: str, second: str) -> None:
    members = Members(LIMITS)
    members.add(Entry(path="m", size=0, folder=True))
    members.add(Entry(path=f"m/{first}", size=0, folder=False))
    with pytest.raises(ValueError, match="case or accents"):
        members.add(Entry(path=f"m/{second}", size=0, folder=False))


def test_a_folder_has_no_bytes() -> None:
    with pytest.raises(ValueError, match="order"):
        Members(LIMITS).add(Entry(path="x", size=1, folder=True))
