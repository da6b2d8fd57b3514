"""What a catalogue holds, and how it is asked: a code without words is shown as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

_SECOND_US: Final = 1_000_000
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
# Below this a second is worth a digit behind the point.
_TENTHS_BELOW_US: Final = 10 * _SECOND_US
_THOUSAND: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The words of one language. Keys are codes, but for `phrases` and `counted`, whose keys are names of ours.

    A decision may have words for one engine alone, under `engine/decision`. Where its word has an ending that follows
    what it is said of, the ending stands in brackets as `[o|a]`; `feminine` holds the engines that take the second.
    `singular` are the numbers that take the first form of `counted`.
    """

    language: str
    engines: Mapping[str, str]
    rows: Mapping[str, str]
    decisions: Mapping[str, str]
    reasons: Mapping[str, str]
    kinds: Mapping[str, str]
    legs: Mapping[str, str]
    roles: Mapping[str, str]
    scans: Mapping[str, str]
    sides: Mapping[str, str]
    extras: Mapping[str, str]
    rules: Mapping[str, str]
    phrases: Mapping[str, str]
    counted: Mapping[str, tuple[str, str]]
    weekdays: tuple[str, ...]
    months: tuple[str, ...]
    full_date: str
    thousands: str
    point: str
    feminine: frozenset[str] = frozenset()
    singular: frozenset[int] = frozenset({1})

    def decision(self, engine: str, code: str) -> str:
        """A decision in words, as it is said of what that engine decides about."""
        word = self.decisions.get(f"{engine}/{code}") or self.decisions.get(code, code)
        before, mark, rest = word.partition("[")
        if not mark:
            return word
        ending, _, after = rest.partition("]")
        masculine, _, feminine = ending.partition("|")
        return before + (feminine if engine in self.feminine else masculine) + after

    def phrase(self, name: str, **values: str) -> str:
        """A sentence or a part of one, with `values` in their places."""
        return self.phrases[name].format(**values)

    def count(self, name: str, number: int) -> str:
        """`1 message`, `2,000 messages`."""
        one, many = self.counted[name]
        return (one if number in self.singular else many).format(n=self.number(number))

    def number(self, value: int) -> str:
        """A whole number with its thousands apart."""
        return f"{value:,}".replace(",", self.thousands)

    def size(self, value: int) -> str:
        """So many bytes, in the unit that reads best: `999 B`, `1.5 kB`, `64 MB`."""
        if value < _THOUSAND:
            return f"{value} B"
        scaled, unit = float(value), ""
        for unit in ("kB", "MB", "GB", "TB"):
            scaled /= _THOUSAND
            # What would be shown as 1000 of a unit is one of the next.
            if scaled < _THOUSAND - 0.5 or unit == "TB":
                break
        shown = f"{scaled:.1f}" if scaled < 99.95 else f"{scaled:,.0f}"
        return f"{self._decimal(shown.removesuffix('.0'))} {unit}"

    def duration(self, us: int) -> str:
        """`0.4 s`, `12 s`, `3 min 5 s`, `2 d 4 h`: the two largest units."""
        us = max(us, 0)
        # A tenth more, and it would be shown as ten seconds with a digit behind the point.
        if us < _TENTHS_BELOW_US - _SECOND_US // 20:
            tenths = f"{us / _SECOND_US:.1f}"
            return f"{self._decimal(tenths.removesuffix('.0'))} s"
        seconds = (us + _SECOND_US // 2) // _SECOND_US
        parts: list[str] = []
        for unit, size in _UNITS:
            whole, seconds = divmod(seconds, size)
            if whole:
                parts.append(f"{whole} {unit}")
            elif parts:
                break
        return " ".join(parts[:2])

    def day(self, when: date) -> str:
        """A day in full, with its weekday."""
        return self.full_date.format(
            weekday=self.weekdays[when.weekday()], day=when.day, month=self.months[when.month - 1], year=when.year
        )

    def _decimal(self, shown: str) -> str:
        return shown.translate({ord(","): self.thousands, ord("."): self.point})

    def codes_of(self, table: Mapping[str, str], said: str) -> tuple[str, ...]:
        """The codes that `said` may name: itself, or those whose words of this language these are."""
        wanted = " ".join(said.split()).casefold()
        if wanted in table:
            return (wanted,)
        found = [code.rpartition("/")[2] for code, words in table.items() if wanted in _forms(words.casefold())]
        return tuple(dict.fromkeys(found)) or (wanted.replace(" ", "_"),)


def _forms(words: str) -> tuple[str, ...]:
    before, mark, rest = words.partition("[")
    if not mark:
        return (words,)
    ending, _, after = rest.partition("]")
    return tuple(before + form + after for form in ending.split("|"))
