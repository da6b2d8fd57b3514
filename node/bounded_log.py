"""The node's log: lines on standard error which, where that is the node's log file, never grow beyond a limit."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import TextIO

from node.core.screen_credentials import without_credentials

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class _Cleaned(logging.Formatter):
    """Lines and traces without credentials: what goes wrong is often said with the words of an agent or a peer."""

    def format(self, record: logging.LogRecord) -> str:
        """The line as it is written."""
        return without_credentials(super().format(record))


class BoundedLog(logging.StreamHandler[TextIO]):
    """Writes to `stream`. Once that is the file at `path` and over `most_bytes`, its lines move to `path`.1.

    What agents make the node say must not fill the disk. Whoever opened the stream must have done so to append.
    """

    def __init__(self, stream: TextIO, path: Path, most_bytes: int) -> None:
        super().__init__(stream)
        self.setFormatter(_Cleaned(FORMAT))
        self._path = path
        self._most_bytes = most_bytes

    def emit(self, record: logging.LogRecord) -> None:
        """One line more; logging sees to it that only one is written at a time."""
        super().emit(record)
        try:
            self._keep_small()
        except OSError:
            # A full disk, or a log that somebody took away: the line is out, and the next one tries again.
            return

    def _keep_small(self) -> None:
        descriptor = self.stream.fileno()
        written = os.fstat(descriptor)
        if written.st_size <= self._most_bytes or not os.path.samestat(written, self._path.lstat()):
            return
        # Copied, not renamed: a service manager holds the file open as well, and would go on writing to the old one.
        shutil.copyfile(self._path, self._path.with_name(f"{self._path.name}.1"), follow_symlinks=False)
        os.ftruncate(descriptor, 0)
