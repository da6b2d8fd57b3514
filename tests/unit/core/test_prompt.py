"""What a screen shows, on screens as agent CLIs draw them."""

from __future__ import annotations

import re

import pytest

from node.core.prompt import (
    DEMO,
    GENERIC,
    HeldReason,
    PromptProfile,
    PromptState,
    Screen,
    cells,
    judge,
    left_behind,
    stands,
)

IDLE, BUSY, DRAFT = PromptState.IDLE, PromptState.BUSY, PromptState.DRAFT
DIALOG, UNKNOWN = PromptState.DIALOG, PromptState.UNKNOWN
RULE = "\u2500" * 40
NOTICE = "[heliograph] A request waits for you. Call read_inbox."

# Shapes of two real programs: a box between rules, and a lone mark with a hint in it.
RULED = PromptProfile(
    name="ruled",
    prompt=re.compile("\u276f(?: |$)"),
    busy=(re.compile("esc to interrupt"),),
    dialog=(re.compile(r"^ *\u276f \d\. "), re.compile("Esc to cancel")),
    box_end=re.compile("^\u2500{10}"),
)
HINTED = PromptProfile(
    name="hinted",
    prompt=re.compile("\u203a(?: |$)"),
    placeholder=re.compile("Ask [A-Z][a-z]+ to do anything"),
    busy=(re.compile(r"^\u2022 Working \(.*esc to interrupt"),),
    dialog=(re.compile(r"^ *\u203a \d\. "), re.compile("enter to submit [|] esc to cancel")),
    box_end=re.compile(r"^$|^  \S+ default "),
)
FRAMED = PromptProfile(
    name="framed",
    prompt=re.compile("\u2502 > "),
    placeholder=re.compile("Type your message or @path/to/file"),
    box_end=re.compile("^\u2570"),
    frame="\u2502",
    cursor_in_box=False,
)


def screen(*lines: str, cursor: tuple[int, int] | None = None, width: int = 80, height: int = 24) -> Screen:
    """A terminal with these lines; the cursor is by default after the last of them."""
    padded = (*lines, *[""] * (height - len(lines)))
    return Screen(lines=padded, cursor=cursor or (cells(lines[-1]), len(lines) - 1), width=width)


@pytest.mark.parametrize(
    ("shown", "state"),
    [
        (screen("helio-agent>", cursor=(13, 0)), IDLE),
        (screen("helio-agent> done", "result", "helio-agent>", cursor=(13, 2)), IDLE),
        (screen("helio-agent> x"), DRAFT),
        # Blanks are trimmed from what a terminal server reports; the cursor tells of them.
        (screen("helio-agent>", cursor=(17, 0)), DRAFT),
        (screen("helio-agent> " + "x" * 67, "yy"), DRAFT),
        (screen("helio-agent> " + "x" * 67, "", cursor=(0, 1)), DRAFT),
        (screen("helio-agent> entered", "", cursor=(0, 1)), UNKNOWN),
        (screen("helio-agent> entered", "helio-agent is working", "", cursor=(0, 2)), BUSY),
        # The work of an earlier turn stands above.
        (screen("helio-agent> entered", "helio-agent is working", "helio-agent>", cursor=(13, 2)), IDLE),
        (screen("helio-agent asks: May I?", "> ", cursor=(2, 1)), DIALOG),
        (screen("Remove the whole folder? [y/n] "), DIALOG),
        (screen("Remove? (Y/n)", cursor=(0, 1)), DIALOG),
        # Quoted in the conversation, above a live prompt.
        (screen("it asks: Remove? [y/n]", "helio-agent>", cursor=(13, 1)), IDLE),
        (screen("helio-agent>", "something below", cursor=(13, 0)), UNKNOWN),
        (screen("$ ", cursor=(2, 0)), UNKNOWN),
        (screen("", cursor=(0, 0)), UNKNOWN),
        (screen("it said helio-agent>", cursor=(21, 0)), UNKNOWN),
    ],
)
def test_a_line_prompt(shown: Screen, state: PromptState) -> None:
    assert judge(shown, DEMO) is state


@pytest.mark.parametrize(
    ("shown", "state"),
    [
        (screen("> ", cursor=(2, 0)), IDLE),
        (screen("\u276f", cursor=(2, 0)), IDLE),
        (screen("my-agent>", cursor=(10, 0)), IDLE),
        (screen("\u276f hello"), DRAFT),
        (screen("  Do it?", "\u276f 1. Yes", "  2. No", cursor=(0, 1)), DIALOG),
        (screen("Password: "), DIALOG),
        (screen("Press enter to confirm or esc to cancel"), DIALOG),
        (screen("root@host:~# "), UNKNOWN),
        (screen("user@host:~$ "), UNKNOWN),
        (screen("top - 10:00 up 1 day", "Tasks: 1"), UNKNOWN),
    ],
)
def test_a_program_nothing_is_known_of(shown: Screen, state: PromptState) -> None:
    assert judge(shown, GENERIC) is state


@pytest.mark.parametrize(
    ("lines", "cursor", "state"),
    [
        ((RULE, "\u276f", RULE, "  ? for shortcuts"), (2, 1), IDLE),
        ((RULE, "\u276f half", RULE, "  ? for shortcuts"), (6, 1), DRAFT),
        ((RULE, "\u276f", "  second line", RULE, "  ? for shortcuts"), (13, 2), DRAFT),
        ((RULE, "\u276f", "", RULE, "  ? for shortcuts"), (2, 2), DRAFT),
        ((RULE, "\u276f", RULE, "  esc to interrupt"), (2, 1), BUSY),
        (("Do you want to proceed?", " \u276f 1. Yes", "   2. No", " Esc to cancel"), (1, 1), DIALOG),
        # A dialog of which the mark has moved on, and one that an answer quotes above the live box.
        (("Do you want to proceed?", "   1. Yes", " \u276f 2. No", " Esc to cancel"), (1, 2), DIALOG),
        ((" \u276f 1. Yes", " Esc to cancel", RULE, "\u276f", RULE, "  ? for shortcuts"), (2, 3), IDLE),
        # The mark alone, its box not drawn: not this program's prompt.
        (("\u276f", ""), (2, 0), UNKNOWN),
        ((RULE, "\u276f", RULE, "  ? for shortcuts", "$ "), (2, 4), UNKNOWN),
    ],
)
def test_a_box_between_rules(lines: tuple[str, ...], cursor: tuple[int, int], state: PromptState) -> None:
    assert judge(screen(*lines, cursor=cursor), RULED) is state


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        (("\u203a Ask Agent to do anything", "", "  model default \u00b7 /work"), IDLE),
        (("\u203a Ask Agent to do anything else", "", "  model default \u00b7 /work"), DRAFT),
        (
            ("\u2022 Working (3s \u2022 esc to interrupt)", "", "\u203a Ask Agent to do anything", "", "  m default d"),
            BUSY,
        ),
        (("Allow it?", "\u203a 1. Allow", "  2. Cancel", "enter to submit | esc to cancel"), DIALOG),
    ],
)
def test_a_hint_in_the_box_is_no_draft(lines: tuple[str, ...], state: PromptState) -> None:
    row = next(number for number, line in enumerate(lines) if line.startswith("\u203a"))
    assert judge(screen(*lines, cursor=(2, row)), HINTED) is state


@pytest.mark.parametrize(
    ("inside", "state"),
    [(["Type your message or @path/to/file"], IDLE), ([""], IDLE), (["two", "  lines"], DRAFT), (["", "x"], DRAFT)],
)
def test_a_frame_around_the_box_is_not_input(inside: list[str], state: PromptState) -> None:
    rows = [
        "\u2502 > " + inside[0].ljust(40) + "\u2502",
        *["\u2502   " + line.ljust(40) + "\u2502" for line in inside[1:]],
    ]
    shown = screen("\u256d" + RULE, *rows, "\u2570" + RULE, "  model", cursor=(0, 23))
    assert judge(shown, FRAMED) is state
    wrapped = screen(
        "\u2502 > [heliograph] A request        \u2502", "\u2502   waits for you.           \u2502", "\u2570" + RULE
    )
    assert stands(wrapped, FRAMED, "[heliograph] A request waits for you.")


def test_what_scrolled_far_up_does_not_count() -> None:
    old = "helio-agent asks: May I?"
    assert judge(screen(old, "..."), DEMO) is DIALOG
    assert judge(screen(old, *["..."] * DEMO.tail), DEMO) is UNKNOWN


@pytest.mark.parametrize("width", [40, 66, 67, 68, 80])
def test_a_notice_stands_whatever_the_width(width: int) -> None:
    line = f"helio-agent> {NOTICE}"
    rows = [line[start : start + width] for start in range(0, len(line), width)]
    full = len(line) % width == 0
    shown = screen(*rows, *[""] * full, width=width)
    assert stands(shown, DEMO, NOTICE)
    assert judge(shown, DEMO) is DRAFT
    assert not stands(shown, DEMO, NOTICE[:-1])
    assert not stands(shown, DEMO, NOTICE + " more")


def test_a_notice_joined_to_a_draft_does_not_stand() -> None:
    assert not stands(screen(f"helio-agent> half {NOTICE}"), DEMO, NOTICE)
    assert not stands(screen(f"helio-agent> {NOTICE} half"), DEMO, NOTICE)
    assert not stands(screen("helio-agent> ^[[200~" + NOTICE), DEMO, NOTICE)


def test_an_entered_line_is_left_behind_and_stands_no_more() -> None:
    entered = screen(f"helio-agent> {NOTICE}", "", cursor=(0, 1))
    assert left_behind(entered, DEMO, NOTICE)
    assert not stands(entered, DEMO, NOTICE)
    assert left_behind(screen(f"helio-agent> {NOTICE}", "first words of the answer"), DEMO, NOTICE)
    wrapped = f"helio-agent> {NOTICE}"
    assert left_behind(screen(wrapped[:40], wrapped[40:], "", cursor=(0, 2), width=40), DEMO, NOTICE)
    assert not left_behind(screen(f"helio-agent> {NOTICE}"), DEMO, NOTICE)
    assert not left_behind(screen("helio-agent> another", "", cursor=(0, 1)), DEMO, NOTICE)
    assert not left_behind(screen(RULE, f"\u276f {NOTICE}", "", RULE, cursor=(0, 2)), RULED, NOTICE)


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("\u65e5\u672c", 4), ("e\u0301", 1), ("", 0), ("\u276f ", 2), ("a\u200db", 2)]
)
def test_cells(text: str, width: int) -> None:
    assert cells(text) == width


def test_every_reason_has_words_that_a_sender_understands() -> None:
    assert len({reason.words for reason in HeldReason}) == len(HeldReason)
