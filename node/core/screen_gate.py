"""Which stretches of a text can hold a phrase of the rules at all, told from its words alone.

To read a text as concepts means to cut it into tokens and to look at the neighbours of many. Here it is only split at
everything that is no letter or digit, and the order and distance of the words say where reading it may find something.
Every answer errs to the side of yes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from node.core import screen_shape
from node.core.screen_reading import slab_spans, together
from node.core.screen_words import VOCABULARY

_SECTION = 500  # code points that are asked together
_AT_ONCE = 32_768  # up to here the whole is asked first: nearly always that ends it
_REMEMBERED_RUNS, _REMEMBERED_CHARS = 16_384, 32
_NO_SIGN = " "  # of a word without a concept


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One concept of a phrase: the letters that stand for it, and the most letters between it and the one before."""

    letters: frozenset[str]
    gap: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """A phrase over signs: what a text needs of Gate._met, and then `pattern`."""

    needs: int
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """A stretch of a text which ends at `end`, with a sign for each of its words, and what those may be of."""

    end: int
    signs: str
    met: int
    plain: bool


class _Signs(dict[bytes, str]):
    """The signs of a run of letters and digits: one for the run itself, or one for each word that is written in it."""

    def __init__(self) -> None:
        super().__init__()
        self._of_run: dict[str, str] = {}
        self._of_letter: dict[str, str] = {}
        self._spelled: dict[str, set[str]] = {}  # by letter the ways in which signs spell it
        for runs, letter in VOCABULARY.in_runs:
            sign = self._of_letter.setdefault(letter, self._new())
            ways = self._spelled.setdefault(letter, {sign})
            ways.add("".join(self._of_run.setdefault(run, self._new()) for run in runs))

    def _new(self) -> str:
        return chr(0x4E00 + len(self._of_run) + len(self._of_letter))

    def ways(self, letters: frozenset[str]) -> frozenset[str]:
        """All ways in which signs spell one of the letters."""
        return frozenset(way for letter in letters for way in self._spelled.get(letter, ()))

    def __missing__(self, run: bytes) -> str:
        word = run.decode("ascii")
        signs = self._of_run.get(word) or _NO_SIGN
        if signs == _NO_SIGN:
            signs = "".join(self._of_letter.get(letter, "") for letter in together(word)) or _NO_SIGN
        if len(run) <= _REMEMBERED_CHARS:
            if len(self) >= _REMEMBERED_RUNS:
                self.clear()
            self[run] = signs
        return signs


def _united(bits: Iterable[int]) -> int:
    return reduce(int.__or__, bits, 0)


class Gate:
    """Made for phrases, each of which is its steps; `link` is the letter of what stands for no word of its own."""

    def __init__(self, phrases: Sequence[Sequence[Step]], *, link: str) -> None:
        self._signs = _Signs()
        self._reach = max(VOCABULARY.longest * sum(step.gap + 1 for step in phrase) for phrase in phrases)
        self._bits: dict[frozenset[str], int] = {}  # by the ways to spell a concept
        self._forms = tuple(self._form([step for step in phrase if link not in step.letters]) for phrase in phrases)
        self._met: dict[str, int] = {_NO_SIGN: 0}  # by sign: the concepts that it may be the beginning of
        for spelled, bit in self._bits.items():
            for way in spelled:
                self._met[way[0]] = self._met.get(way[0], 0) | bit

    def _form(self, steps: Sequence[Step]) -> _Form:
        ways = [self._signs.ways(step.letters) for step in steps]
        source = ""
        for step, spelled in zip(steps, ways, strict=True):
            # Between two concepts stand so many letters at most, each of which may be a phrase.
            source += rf"[\s\S]{{0,{VOCABULARY.longest * step.gap}}}?" if source else ""
            single = "".join(sorted(way for way in spelled if len(way) == 1))
            longer = sorted(way for way in spelled if len(way) > 1)
            if source:
                source += "(?:" + "|".join([f"[{single}]", *longer]) + ")"
            else:
                # The engine jumps from one to the next where a pattern begins with one set.
                begins = "".join(sorted({way[0] for way in spelled}))
                source = f"[{begins}](?:(?<=[{single}])" + "".join(f"|(?<={way[0]}){way[1:]}" for way in longer) + ")"
        needs = _united(self._bits.setdefault(spelled, 1 << len(self._bits)) for spelled in ways)
        return _Form(needs=needs, pattern=re.compile(source))

    def stretches(self, folded: str, shaped: bytes, runs: Iterable[bytes]) -> Iterator[tuple[int, int]]:
        """The stretches outside of which no phrase can be, each with some text around it for the rules to look at.

        `runs` are the different ones of `shaped`. A section has more words than any phrase reaches over, so a phrase
        lies in one section or in two neighbours.
        """
        plain = screen_shape.is_plain(shaped)
        met = self._met_by("".join(map(self._signs.__getitem__, runs)))
        forms = [form for form in self._forms if form.needs & met == form.needs]
        if plain and (not forms or (len(folded) <= _AT_ONCE and not self._holds(shaped, forms))):
            return
        sections = list(self._sections(folded, shaped, all_plain=plain))
        start = end = 0
        for at in range(len(sections)):
            if not _may_hold_phrase(sections[at : at + 2], forms):
                continue
            begins = sections[at - 2].end if at > 1 else 0
            if begins > end:
                if end:
                    yield start, end
                start = begins
            end = sections[min(at + 2, len(sections) - 1)].end
        if end:
            yield start, end

    def _holds(self, shaped: bytes, forms: Iterable[_Form]) -> bool:
        signs = "".join(map(self._signs.__getitem__, screen_shape.alnum_runs(shaped).split()))
        return any(form.pattern.search(signs) is not None for form in forms)

    def _met_by(self, signs: str) -> int:
        return _united(map(self._met.__getitem__, set(signs) & self._met.keys()))

    def _sections(self, folded: str, shaped: bytes, *, all_plain: bool) -> Iterator[_Section]:
        runs = screen_shape.alnum_runs(shaped)
        sign_of = self._signs.__getitem__
        words: list[bytes] = []
        for start, end in slab_spans(folded, _SECTION):
            plain = all_plain or screen_shape.is_plain(shaped[start:end])
            words += runs[start:end].split()
            if not plain or len(words) >= self._reach or end == len(folded):
                signs = "".join(map(sign_of, words))
                yield _Section(end=end, signs=signs, met=self._met_by(signs), plain=plain)
                words = []


def _may_hold_phrase(neighbours: Sequence[_Section], forms: Iterable[_Form]) -> bool:
    """Whether sections that follow one another may hold one of the phrases."""
    if not all(section.plain for section in neighbours):
        return True
    signs = "".join(section.signs for section in neighbours)
    met = _united([section.met for section in neighbours])
    return any(form.needs & met == form.needs and form.pattern.search(signs) is not None for form in forms)
