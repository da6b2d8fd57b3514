"""Where the characters of a text that was made out of another one come from."""

from __future__ import annotations

from bisect import bisect_right


class Origin:
    """The span of the source behind each character, kept by stretches, so that a text left as it was costs nothing."""

    __slots__ = ("_begins", "_sources", "_steps", "size")

    def __init__(self) -> None:
        self.size = 0  # characters told of so far
        self._begins: list[int] = []
        self._sources: list[tuple[int, int]] = []
        self._steps: list[int] = []  # how far the source moves with each character; 0: all of them stand for all of it

    def _add(self, size: int, start: int, end: int, step: int) -> None:
        if size:
            self._begins.append(self.size)
            self._sources.append((start, end))
            self._steps.append(step)
            self.size += size

    def copy(self, start: int, end: int) -> None:
        """The next characters are source[start:end]."""
        self._add(end - start, start, end, 1)

    def turn(self, start: int, end: int) -> None:
        """The next characters are source[start:end] from its end to its start."""
        self._add(end - start, start, end, -1)

    def replace(self, size: int, start: int, end: int) -> None:
        """Each of the next `size` characters stands for the whole of source[start:end]."""
        self._add(size, start, end, 0)

    def of(self, index: int) -> tuple[int, int]:
        """The span of the source behind one character."""
        at = bisect_right(self._begins, index) - 1
        start, end = self._sources[at]
        moved = index - self._begins[at]
        if self._steps[at] == 0:
            return start, end
        place = start + moved if self._steps[at] > 0 else end - 1 - moved
        return place, place + 1
