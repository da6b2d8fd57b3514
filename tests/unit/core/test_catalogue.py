"""The catalogues: words for every code that can be written, and numbers, times and plurals as each tongue has them."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import date
from types import MappingProxyType

import pytest

from node.core import log_key
from node.core.catalogue.languages import CATALOGUES, chosen
from node.core.catalogue.words import Catalogue
from node.core.row_codes import (
    ExtraKey,
    RowDecision,
    RowEngine,
    RowReason,
    RowRole,
    RowRule,
    RowSubject,
    SideField,
)
from node.core.timeline import LEGS, SCAN_STATUSES, RowKind
from tests.row_codes import collected

# Each table of codes that rows are written with, and the catalogue's table of words for it.
TABLES: dict[str, Iterable[str]] = {
    "rows": RowKind,
    "engines": RowEngine,
    "decisions": RowDecision,
    "reasons": RowReason,
    "kinds": RowSubject,
    "legs": LEGS,
    "roles": RowRole,
    "scans": SCAN_STATUSES,
    "rules": RowRule,
    "sides": SideField,
    "extras": ExtraKey,
}

every_language = pytest.mark.parametrize("words", CATALOGUES.values(), ids=list(CATALOGUES))


@every_language
@pytest.mark.parametrize("table", TABLES)
def test_every_code_that_can_be_written_has_words(table: str, words: Catalogue) -> None:
    known: Mapping[str, str] = getattr(words, table)
    assert {str(code) for code in TABLES[table]} - set(known) == set()


@every_language
@pytest.mark.parametrize("table", TABLES)
def test_there_are_words_for_nothing_else(table: str, words: Catalogue) -> None:
    """A word that no row asks for is one that every further language would be held to."""
    known: Mapping[str, str] = getattr(words, table)
    assert {code.rpartition("/")[2] for code in known} == {str(code) for code in TABLES[table]}


# Where codes come from that cannot be traced through the source to the closed tables.
KNOWN = {
    "node.attachments:_decide:judged.override": {reason.value for reason in RowReason},
    "node.core.log_key:row:self.decision": log_key.DECISIONS,
    # What stands in for a row that could not be written in full has its codes.
    "node.core.epochs:override_row:row.kind": {subject.value for subject in RowSubject},
    "node.core.epochs:override_row:row.leg": set(LEGS),
}


def test_nothing_is_written_that_is_not_of_the_closed_tables() -> None:
    """Each place that makes a row, with each of its codes traced back to what it can be."""
    found, used = collected({key: frozenset(values) for key, values in KNOWN.items()})
    assert not found.unknown, "say in KNOWN what these can be"
    assert used == set(KNOWN), "these are traced by now, or gone: take them out of KNOWN"
    assert len(found.by_field["decision"]) > 50, "a collector that finds little proves little"
    tables = {"row": RowKind, "engine": RowEngine, "decision": RowDecision, "reason": RowReason, "kind": RowSubject}
    for field, table in tables.items():
        assert found.by_field[field] - set(table) == set(), field
    assert found.by_field["leg"] <= LEGS


@every_language
def test_every_table_of_codes_is_one_of_them(words: Catalogue) -> None:
    """A new table of words would be compared with nothing."""
    tables = {one.name for one in fields(words) if isinstance(getattr(words, one.name), MappingProxyType)}
    assert tables == {*TABLES, "phrases", "counted"}


@every_language
def test_no_word_is_one_that_a_terminal_would_take_for_something_else(words: Catalogue) -> None:
    tables = [getattr(words, one.name) for one in fields(words)]
    texts = [text for table in tables if isinstance(table, MappingProxyType) for text in table.values()]
    flat = [part for text in texts for part in ([text] if isinstance(text, str) else text)]
    assert all(text.isprintable() and text == text.strip() and text for text in flat)


def test_both_say_the_same_things() -> None:
    english, *others = CATALOGUES.values()
    for other in others:
        for one in fields(Catalogue):
            mine, theirs = getattr(english, one.name), getattr(other, one.name)
            if isinstance(mine, MappingProxyType):
                assert {key for key in mine if "/" not in key} == {key for key in theirs if "/" not in key}
        for name, phrase in english.phrases.items():
            assert _places(phrase) == _places(other.phrases[name])
        assert all(_places(form) == {"n"} for forms in other.counted.values() for form in forms)


def _places(phrase: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(phrase) if name is not None}


def test_an_unknown_code_is_shown_as_it_is() -> None:
    for words in CATALOGUES.values():
        assert words.decision("agent.request", "teleported") == "teleported"
        assert words.decision("newer.engine", "teleported") == "teleported"


@pytest.mark.parametrize(
    ("engine", "code", "english", "portuguese"),
    [
        ("session", "removed", "removed", "removida"),
        ("mirror", "removed", "removed", "removido"),
        ("agent.request", "relayed", "relayed", "encaminhada"),
        ("pairing", "paired", "paired", "concluído"),
        ("mesh", "refused", "refused", "chamada recusada"),
        ("session", "launch_failed", "could not be started", "não pôde ser iniciada"),
    ],
)
def test_a_decision_agrees_with_what_it_is_about(engine: str, code: str, english: str, portuguese: str) -> None:
    assert CATALOGUES["en"].decision(engine, code) == english
    assert CATALOGUES["pt"].decision(engine, code) == portuguese


@pytest.mark.parametrize(
    ("number", "english", "portuguese"),
    [
        (0, "0 gaps", "0 lacuna"),
        (1, "1 gap", "1 lacuna"),
        (2, "2 gaps", "2 lacunas"),
        (1_234_567, "1,234,567 gaps", "1.234.567 lacunas"),
    ],
)
def test_plurals(number: int, english: str, portuguese: str) -> None:
    assert CATALOGUES["en"].count("gap", number) == english
    assert CATALOGUES["pt"].count("gap", number) == portuguese


@pytest.mark.parametrize(
    ("us", "english", "portuguese"),
    [
        (-5, "0 s", "0 s"),
        (0, "0 s", "0 s"),
        (400_000, "0.4 s", "0,4 s"),
        (9_949_999, "9.9 s", "9,9 s"),
        (9_950_000, "10 s", "10 s"),
        (12_000_000, "12 s", "12 s"),
        (59_499_999, "59 s", "59 s"),
        (59_500_000, "1 min", "1 min"),
        (185_000_000, "3 min 5 s", "3 min 5 s"),
        (3_600_000_000, "1 h", "1 h"),
        (3_605_000_000, "1 h", "1 h"),
        (187_200_000_000, "2 d 4 h", "2 d 4 h"),
    ],
)
def test_durations(us: int, english: str, portuguese: str) -> None:
    assert CATALOGUES["en"].duration(us) == english
    assert CATALOGUES["pt"].duration(us) == portuguese


@pytest.mark.parametrize(
    ("size", "english", "portuguese"),
    [
        (999, "999 B", "999 B"),
        (1_500, "1.5 kB", "1,5 kB"),
        (64_000_000, "64 MB", "64 MB"),
        (999_999, "1 MB", "1 MB"),
        (123_456_789, "123 MB", "123 MB"),
        (2**60, "1,152,922 TB", "1.152.922 TB"),
    ],
)
def test_sizes(size: int, english: str, portuguese: str) -> None:
    assert CATALOGUES["en"].size(size) == english
    assert CATALOGUES["pt"].size(size) == portuguese


def test_days() -> None:
    assert CATALOGUES["en"].day(date(2026, 11, 30)) == "Monday 30 November 2026"
    assert CATALOGUES["pt"].day(date(2027, 3, 6)) == "sábado, 6 de março de 2027"


@pytest.mark.parametrize(
    ("named", "environment", "language"),
    [
        (None, {}, "en"),
        (None, {"LANG": "pt_BR.UTF-8"}, "pt"),
        (None, {"LANG": "pt_PT@euro"}, "pt"),
        (None, {"LANG": "pt_BR.UTF-8", "LC_ALL": "C"}, "en"),
        (None, {"LANG": "pt_BR.UTF-8", "LC_ALL": "", "LC_MESSAGES": "en_GB"}, "en"),
        (None, {"LC_MESSAGES": "pt", "LANG": "de_DE"}, "pt"),
        (None, {"LANG": "de_DE.UTF-8"}, "en"),
        (None, {"LC_ALL": "ptx"}, "en"),
        ("pt", {"LC_ALL": "C"}, "pt"),
        ("en", {"LC_ALL": "pt_BR"}, "en"),
    ],
)
def test_whose_language(named: str | None, environment: dict[str, str], language: str) -> None:
    assert chosen(named, environment).language == language


@pytest.mark.parametrize(
    ("language", "said", "codes"),
    [
        ("en", "withheld", "withheld"),
        ("en", "Given  back", "given_back"),
        ("en", "given up", "gave_up"),
        ("en", "never heard of", "never_heard_of"),
        ("en", "denied", "denied"),
        ("pt", "withheld", "withheld"),
        ("pt", "retida", "withheld"),
        ("pt", "Retido", "withheld"),
        ("pt", "chamada recusada", "refused"),
        ("pt", "iniciada", "began started"),
    ],
)
def test_a_code_is_known_by_its_words_too(language: str, said: str, codes: str) -> None:
    words = CATALOGUES[language]
    assert words.codes_of(words.decisions, said) == tuple(codes.split())
