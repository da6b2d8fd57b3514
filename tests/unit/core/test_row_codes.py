"""The codes of rows: closed, total over the tables that they repeat, and each fit to stand in a row."""

from __future__ import annotations

import ast
from enum import StrEnum
from pathlib import Path

import pytest

from node.core import row_codes
from node.core.approval import ApprovalKind
from node.core.approval import Decision as Answer
from node.core.canonical import CODE
from node.core.commands import MESSAGE_KINDS
from node.core.epochs import Break
from node.core.errors import ErrorCode
from node.core.export_record import Step
from node.core.holds import ASKS, INJECTION
from node.core.log_key import DECISIONS
from node.core.model import End, Kind, MessageKind
from node.core.pairing_messages import Reason as PairingReason
from node.core.pairing_messages import Role as PairingRole
from node.core.prompt import HeldReason
from node.core.relay import Outcome
from node.core.row_codes import RowDecision, RowEngine, RowReason, RowRole, RowRule, RowSubject
from node.core.row_decisions import DECISIONS_OF
from node.core.screen import CREDENTIAL
from node.core.workspace import ScreenMode
from node.store.guard import WORDS

ROOT = Path(__file__).parents[3]
TABLES = (
    RowEngine, RowDecision, RowReason, RowSubject, RowRole, RowRule, row_codes.SideField, row_codes.ExtraKey,
)  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_every_code_may_stand_in_a_row(table: type[StrEnum]) -> None:
    assert [code for code in table if CODE.one(code.value) is None] == []


@pytest.mark.parametrize(
    "repeated",
    [
        {code.value for code in ErrorCode},
        {code.value for code in HeldReason},
        {code.value for code in PairingReason},
        {code.value for code in ApprovalKind},
        {code.value for code in ScreenMode},
        {INJECTION, CREDENTIAL, *ASKS},
    ],
    ids=["errors", "notices", "pairing", "approvals", "modes", "asks"],
)
def test_reasons_are_total_over_the_tables_they_repeat(repeated: set[str]) -> None:
    assert repeated - {reason.value for reason in RowReason} == set()


def test_every_kind_of_exchange_is_an_engine() -> None:
    assert {f"agent.{kind.value}" for kind in Kind} <= set(RowEngine)


def test_every_answer_of_a_person_is_a_decision() -> None:
    assert {f"allowed_{answer.value}" for answer in Answer if answer.allows} <= set(RowDecision)


def test_every_outcome_of_a_forward_is_a_decision() -> None:
    assert {outcome.value for outcome in Outcome} - {Outcome.LATER.value} <= set(RowDecision)


def test_every_end_of_an_exchange_is_a_role() -> None:
    assert {end.role(kind).replace(" ", "_") for end in End for kind in Kind} <= set(RowRole)


def test_every_message_tool_and_end_of_a_pairing_is_a_subject() -> None:
    tools = {"request", "delegate", "ask", "report", "deliver", "answer", "steer", "close_delegation", "cancel"}
    assert len(tools) == len(MESSAGE_KINDS)
    assert set(RowSubject) == {*MessageKind, *PairingRole, *tools}


def test_every_mode_of_the_screen_is_a_rule() -> None:
    assert {f"screen.{mode.value}" for mode in ScreenMode} <= set(RowRule)


def test_engines_and_decisions_are_total_over_each_other() -> None:
    assert set(DECISIONS_OF) == set(RowEngine)
    assert frozenset[RowDecision]().union(*DECISIONS_OF.values()) == set(RowDecision)


def test_no_row_is_written_with_a_code_that_is_not_of_the_tables() -> None:
    """Rows are made with members of the tables, which the type checker holds to; never with words of one's own."""
    bare: list[str] = []
    for source in (path for top in ("node", "tunnel") for path in sorted((ROOT / top).rglob("*.py"))):
        for found in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(found, ast.Call) and isinstance(found.func, ast.Name) and found.func.id == "Row":
                given = {one.arg: one.value for one in found.keywords}
                words = [name for name in ("engine", "decision", "reason") if isinstance(given.get(name), ast.Constant)]
                bare += [f"{source.relative_to(ROOT)}:{found.lineno} {name}" for name in words]
    assert bare == []


def test_every_decision_and_reason_is_written_somewhere() -> None:
    """By its own name, or as the code of a table that it repeats: one that nothing writes needs words for nothing."""
    sources = [path for top in ("node", "tunnel") for path in (ROOT / top).rglob("*.py")]
    named = {
        f"{found.value.id}.{found.attr}"
        for source in sources
        if source.name != "row_codes.py"
        for found in ast.walk(ast.parse(source.read_text(encoding="utf-8")))
        if isinstance(found, ast.Attribute) and isinstance(found.value, ast.Name)
    }
    decisions = {*Outcome, *Step, *DECISIONS, *(f"allowed_{answer.value}" for answer in Answer)}
    # `other` stands among the numbers of a row that counts refusals; `size` is why a range of rows is pruned.
    reasons = {*ErrorCode, *HeldReason, *PairingReason, *ApprovalKind, *ScreenMode, INJECTION, CREDENTIAL, *ASKS}
    reasons |= {*Break, *WORDS, "other", "size"}
    assert [one for one in RowDecision if f"RowDecision.{one.name}" not in named and one.value not in decisions] == []
    assert [one for one in RowReason if f"RowReason.{one.name}" not in named and one.value not in reasons] == []


def test_what_stands_in_the_way_of_rows_is_a_reason() -> None:
    assert {*(code.value for code in Break), *WORDS} - set(RowReason) == set()
