"""What the codecs share: texts that fit on the wire, enum values that this version knows, and files of messages."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TypeVar

from node.core.errors import ErrorCode, MeshError
from node.core.views_work import FileView
from node.wire.v1 import local_pb2 as pb

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

E = TypeVar("E", bound=StrEnum)


def wire_text(text: str) -> str:
    """`text` without halves of characters, which UTF-8 cannot tell."""
    # One of them must not make a whole conversation unreadable.
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def known(kinds: type[E], value: str) -> E:
    """The member of `kinds` with that value; UNSUPPORTED when the other end is of a version which has more of them."""
    try:
        return kinds(value)
    except ValueError as error:
        raise MeshError(
            ErrorCode.UNSUPPORTED,
            f"The node speaks of {kinds.__name__} {value[:40]!r}, which this program does not know: the two are of "
            "different versions. Restart the node with `helio down` and `helio up`.",
        ) from error


def file_to_wire(view: FileView) -> pb.File:
    return pb.File(
        name=wire_text(view.name),
        size=view.size,
        sha256=view.sha256,
        folder=view.folder,
        entries=view.entries,
        path=wire_text(view.path or ""),
    )


def file_from_wire(wire: pb.File) -> FileView:
    return FileView(
        name=wire.name,
        size=wire.size,
        sha256=wire.sha256,
        folder=wire.folder,
        entries=wire.entries,
        path=wire.path or None,
    )
