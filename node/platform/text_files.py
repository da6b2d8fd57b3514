"""The texts in stored attachments, as a screen reads them: files that are texts and not too long. All of it blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import BinaryIO

from node.core import transfer
from node.core.limits import Limits
from node.core.transfer import Attachment, TextFile

_ODD = 10  # one character in so many may be none


def texts_of(
    attachments: Sequence[Attachment], opened: Callable[[str], int], limits: Limits
) -> Generator[TextFile, None, None]:
    """Every text of up to `screened_file_bytes`, in order; then, after `screened_files`, one without.

    `opened` gives a descriptor for a hash. A damaged archive ends early: who unpacks it refuses it as a whole.
    """
    left = limits.screened_files
    for one in attachments:
        with os.fdopen(opened(one.sha256), "rb") as source:
            for name, data in _files(one, source, limits):
                text = _text(data)
                if text is None:
                    continue
                if not left:
                    yield TextFile(name, None)
                    return
                left -= 1
                yield TextFile(name, text)


def _files(one: Attachment, source: BinaryIO, limits: Limits) -> Iterator[tuple[str, bytes]]:
    most = limits.screened_file_bytes
    if not one.folder:
        if one.size <= most:
            yield one.name, source.read(most)
        return
    for _ in range(one.entries):
        try:
            first = source.read(transfer.BLOCK_BYTES)
            entry = transfer.entry_of(first + source.read(transfer.header_size(first, limits) - len(first)))
        except (ValueError, IndexError):
            return
        size = entry.size + len(transfer.padding(entry.size))
        if entry.folder or entry.size > most:
            source.seek(size, os.SEEK_CUR)
        else:
            yield f"{one.name}/{entry.path}", source.read(size)[: entry.size]


def _text(data: bytes) -> str | None:
    """What can be read of the bytes, or None when that is nothing, or hardly anything.

    An agent reads a text with a byte in it that fits no alphabet as well as one without.
    """
    text = data.decode("utf-8", errors="replace")
    odd = text.count("\ufffd") + text.count("\0")
    return text if odd * _ODD < len(text) else None
