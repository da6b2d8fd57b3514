"""Every pair of the pairing machine, with its outcome written down here by hand, not read from the machine."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import get_args

import pytest

from node.core import pairing as p
from node.core.errors import ErrorCode, MeshError
from node.core.pairing_code import code, commitment, proof, statement, transcript
from node.core.pairing_events import (
    Agreed,
    AskCode,
    AskConfirm,
    CheckSignature,
    CodeTyped,
    Declined,
    DeriveKey,
    Effect,
    Ended,
    Expired,
    Input,
    KeyDerived,
    Lost,
    Paired,
    Send,
    Show,
    Sign,
    SignatureChecked,
    Signed,
    Unreadable,
)
from node.core.pairing_messages import Abort, Confirm, Hello, Reason, Reveal, Role, fingerprint
from node.core.pairing_run import Run, State, dial, wait
from tests.pairing_twins import (
    DIALER,
    DIALER_NONCE,
    DIALER_PAKE,
    WAITER,
    WAITER_NONCE,
    WAITER_PAKE,
    beginnings,
    pem,
    same_code,
)

KEY = same_code(DIALER_PAKE, WAITER_PAKE)


def hello(of: Role, *, headless: bool = False) -> Hello:
    ends = beginnings(headless=headless)
    return ends.dialer.run.hello if of is Role.DIALER else ends.waiter.hello


def written(*, headless: bool) -> bytes:
    """The transcript of an honest run."""
    nonce = b"" if headless else DIALER_NONCE
    return transcript(hello(Role.DIALER, headless=headless), hello(Role.WAITER, headless=headless), nonce)


def confirm(of: Role, *, headless: bool) -> Confirm:
    shown = proof(KEY, written(headless=headless), of) if headless else b""
    return Confirm(signature=b"signature", proof=shown)


def right_inputs(role: Role, *, headless: bool) -> dict[str, Input]:
    """An input of every type, as it would come to that end from an honest other and an honest person."""
    other = Role.WAITER if role is Role.DIALER else Role.DIALER
    return {
        "hello": hello(other, headless=headless),
        "reveal": Reveal(nonce=DIALER_NONCE),
        "confirm": confirm(other, headless=headless),
        "abort": Abort(reason="declined"),
        "typed": CodeTyped(code=code(written(headless=headless), 6)),
        "agreed": Agreed(),
        "declined": Declined(),
        "key": KeyDerived(key=KEY),
        "signed": Signed(signature=b"mine"),
        "checked": SignatureChecked(ok=True),
        "unread": Unreadable(),
        "lost": Lost(),
        "expired": Expired(),
    }


DIALERS = {State.DIALED, State.TYPING, State.DERIVING, State.SIGNING, State.CONFIRMED, State.VERIFYING}
# How an honest run comes to a state, by the names of inputs; "+" has a code known beforehand.
WAYS = {
    "dialed": "", "dialed+": "",
    "typing": "hello", "deriving+": "hello",
    "signing": "hello typed", "signing+": "hello key",
    "confirmed": "hello typed signed", "confirmed+": "hello key signed",
    "verifying": "hello typed signed confirm", "verifying+": "hello key signed confirm",
    "waiting": "", "waiting+": "",
    "answered": "hello", "preparing+": "hello",
    "showing": "hello reveal", "proving+": "hello key",
    "checking": "hello reveal confirm", "checking+": "hello key confirm",
    "deciding": "hello reveal confirm checked",
    "sealing": "hello reveal confirm checked agreed", "sealing+": "hello key confirm checked",
    "paired": "hello reveal confirm checked agreed signed", "paired+": "hello key confirm checked signed",
    "failed": "lost", "failed+": "lost",
}  # fmt: skip

# A cell is the state afterwards and what is to be done, in order; "=" for nothing at all, "." for refused.
# "!" fails, has ended and tells the other end; "<" fails because the other end said so; "~" fails with nobody to tell;
# "*" burned a code. o: out of order, d: declined, m: malformed, l: lost, e: expired.
# S sends, W shows the code, C asks for it, Y asks for a yes, K derives, G signs, V checks a signature, P has a pair.
TABLE = """
           hello       reveal    confirm     abort typed     agreed    declined key       signed       checked    unread lost expired
dialed     typing:SC   !o        !o          <d    .         .         !d       .         .            .          !m     ~l   !e
dialed+    deriving:K  !o        !o          <d    .         .         !d       .         .            .          !m     ~l   !e
typing     !o          !o        !o          <d    signing:G .         !d       .         .            .          !m     ~l   !e
deriving+  !o          !o        !o          <d    .         .         !d       signing:G .            .          !m     ~l   !e
signing    !o          !o        !o          <d    .         .         !d       .         confirmed:S  .          !m     ~l   !e
signing+   !o          !o        !o          <d    .         .         !d       .         confirmed:S  .          !m     ~l   !e
confirmed  !o          !o        verifying:V <d    .         .         !d       .         .            .          !m     ~l   !e
confirmed+ !o*         !o*       verifying:V <d*   .         .         !d*      .         .            .          !m*    ~l*  !e*
verifying  !o          !o        !o          <d    .         .         !d       .         .            paired:P   !m     ~l   !e
verifying+ !o*         !o*       !o*         <d*   .         .         !d*      .         .            paired:P   !m*    ~l*  !e*
waiting    answered:S  !o        !o          <d    .         .         !d       .         .            .          !m     ~l   !e
waiting+   preparing:K !o        !o          <d    .         .         !d       .         .            .          !m     ~l   !e
answered   !o          showing:W !o          <d    .         .         !d       .         .            .          !m     ~l   !e
preparing+ !o          !o        !o          <d    .         .         !d       proving:S .            .          !m     ~l   !e
showing    !o          !o        checking:V  <d    .         .         !d       .         .            .          !m     ~l   !e
proving+   !o          !o        checking:V  <d    .         .         !d       .         .            .          !m     ~l   !e
checking   !o          !o        !o          <d    .         .         !d       .         .            deciding:Y !m     ~l   !e
checking+  !o          !o        !o          <d    .         .         !d       .         .            sealing:G  !m     ~l   !e
deciding   !o          !o        !o          <d    .         sealing:G !d       .         .            .          !m     ~l   !e
sealing    !o          !o        !o          <d    .         .         !d       .         paired:PS    .          !m     ~l   !e
sealing+   !o          !o        !o          <d    .         .         !d       .         paired:PS    .          !m     ~l   !e
paired     .           .         .           =     .         .         .        .         .            .          =      =    =
paired+    .           .         .           =     .         .         .        .         .            .          =      =    =
failed     =           =         =           =     .         .         .        =         =            =          =      =    =
failed+    =           =         =           =     .         .         .        =         =            =          =      =    =
"""  # noqa: E501
COLUMNS, *LINES = (line.split() for line in TABLE.strip().splitlines())
EXPECTED = {(line[0], name): cell for line in LINES for name, cell in zip(COLUMNS, line[1:], strict=True)}
LETTERS: dict[str, type[Effect]] = {
    "S": Send, "W": Show, "C": AskCode, "Y": AskConfirm, "K": DeriveKey, "G": Sign, "V": CheckSignature, "P": Paired,
}  # fmt: skip
REASONS = {
    "o": Reason.OUT_OF_ORDER, "d": Reason.DECLINED, "m": Reason.MALFORMED, "l": Reason.LOST, "e": Reason.EXPIRED,
}  # fmt: skip


def run_at(row: str) -> Run:
    """An honest run in that state."""
    headless = row.endswith("+")
    state = State(row.rstrip("+"))
    ends = beginnings(headless=headless)
    run = ends.dialer.run if state in DIALERS else ends.waiter
    inputs = right_inputs(run.role, headless=headless)
    for name in WAYS[row].split():
        run = p.step(run, inputs[name]).run
    assert run.state is state
    return run


def test_the_table_crosses_every_state_with_every_input() -> None:
    assert {row.rstrip("+") for row, _ in EXPECTED} == set(State)
    assert set(WAYS) == {row for row, _ in EXPECTED}
    inputs = right_inputs(Role.DIALER, headless=False)
    assert set(COLUMNS) == set(inputs)
    assert {type(given) for given in inputs.values()} == set(get_args(Input))
    assert {state for state, _ in p.TRANSITIONS} == set(State)


@pytest.mark.parametrize(("row", "name"), sorted(EXPECTED))
def test_each_pair_comes_out_as_written(row: str, name: str) -> None:
    cell = EXPECTED[row, name]
    before = run_at(row)
    given = right_inputs(before.role, headless=before.headless)[name]
    if cell == ".":
        with pytest.raises(MeshError) as refused:
            p.step(before, given)
        assert refused.value.code is ErrorCode.WRONG_STATE
        assert refused.value.details == {"state": before.state.value}
        assert before.state.words in refused.value.message
        return
    step = p.step(before, given)
    if cell == "=":
        assert (step.run, step.effects) == (before, ())
    elif cell[0] in "!<~":
        reason = REASONS[cell[1]]
        told = (Send(message=Abort(reason=reason.value)),) if cell[0] == "!" else ()
        ended = Ended(reason=reason, theirs=cell[0] == "<", burned=cell.endswith("*"))
        assert (step.run.state, step.run.reason) == (State.FAILED, reason)
        assert step.effects == (ended, *told)
    else:
        wanted, _, letters = cell.partition(":")
        assert (step.run.state, step.run.reason) == (State(wanted), None)
        assert [type(effect) for effect in step.effects] == [LETTERS[letter] for letter in letters]
    kept = {"role", "hello", "headless", "digits", "presented"}
    assert all(getattr(step.run, f.name) == getattr(before, f.name) for f in fields(Run) if f.name in kept)


WRONG: list[tuple[str, Input, str]] = [
    ("dialed", replace(hello(Role.WAITER), version=2), "version"),
    ("dialed", replace(hello(Role.WAITER), certificate=pem("attacker")), "other_certificate"),
    ("dialed", hello(Role.WAITER, headless=True), "other_way"),
    ("dialed", replace(hello(Role.WAITER), opening=bytes(31)), "malformed"),
    ("dialed", hello(Role.DIALER), "same_node"),
    ("dialed+", hello(Role.WAITER), "other_way"),
    ("dialed+", replace(hello(Role.WAITER, headless=True), certificate=pem("attacker")), "other_certificate"),
    ("typing", CodeTyped(code="000000"), "wrong_code*"),
    ("confirmed", Confirm(signature=b""), "malformed"),
    ("confirmed", Confirm(signature=b"s", proof=bytes(32)), "malformed"),
    ("confirmed", Abort(reason="wrong_code"), "<wrong_code"),
    ("confirmed+", Confirm(signature=b"s", proof=bytes(32)), "wrong_code*"),
    ("confirmed+", Confirm(signature=b"s"), "malformed*"),
    ("confirmed+", Confirm(signature=b"s", proof=proof(KEY, written(headless=True), Role.DIALER)), "wrong_code*"),
    ("verifying", SignatureChecked(ok=False), "bad_signature*"),
    ("verifying+", SignatureChecked(ok=False), "bad_signature*"),
    ("waiting", replace(hello(Role.DIALER), version=0), "version"),
    ("waiting", hello(Role.DIALER, headless=True), "other_way"),
    ("waiting", hello(Role.WAITER), "same_node"),
    ("waiting", Abort(reason="wrong_code"), "<wrong_code"),
    ("waiting+", hello(Role.DIALER), "other_way"),
    ("answered", Reveal(nonce=WAITER_NONCE), "wrong_commitment"),
    ("answered", Reveal(nonce=DIALER_NONCE[:-1]), "malformed"),
    ("answered", Reveal(nonce=DIALER_NONCE + b"\0"), "malformed"),
    ("answered", Abort(reason="wrong_code"), "<wrong_code"),
    ("showing", Abort(reason="wrong_code"), "<wrong_code*"),
    ("showing", Abort(reason="a reason\x1b of another version"), "<aborted"),
    ("showing", Confirm(signature=bytes(73)), "malformed"),
    ("showing", Confirm(signature=b"s", proof=bytes(32)), "malformed"),
    ("proving+", Confirm(signature=b"s", proof=bytes(32)), "wrong_code*"),
    ("proving+", Confirm(signature=b"s", proof=proof(KEY, written(headless=True), Role.WAITER)), "wrong_code*"),
    ("proving+", Confirm(signature=b"s", proof=proof(bytes(32), written(headless=True), Role.DIALER)), "wrong_code*"),
    ("proving+", Confirm(signature=b"s"), "malformed"),
    ("proving+", Abort(reason="wrong_code"), "<wrong_code"),
    ("checking", SignatureChecked(ok=False), "bad_signature*"),
    ("checking+", SignatureChecked(ok=False), "bad_signature*"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "given", "outcome"), WRONG, ids=[f"{row}-{out}" for row, _, out in WRONG])
def test_what_is_wrong_ends_the_run_and_a_guess_burns_it(row: str, given: Input, outcome: str) -> None:
    reason = Reason(outcome.strip("<*"))
    step = p.step(run_at(row), given)
    assert (step.run.state, step.run.reason) == (State.FAILED, reason)
    told = () if outcome.startswith("<") else (Send(message=Abort(reason=reason.value)),)
    ended = Ended(reason=reason, theirs=outcome.startswith("<"), burned=outcome.endswith("*"))
    assert step.effects == (ended, *told)


def test_a_code_is_given_away_once_the_dialers_proof_of_it_may_be_out() -> None:
    assert {row for row in WAYS if p.is_given_away(run_at(row))} == {"confirmed+", "verifying+"}
    paired = p.step(run_at("verifying+"), SignatureChecked(ok=True)).run
    assert paired.state is State.PAIRED
    assert p.is_given_away(paired), "the other end's proof was right, and yet no peer may come of it"


def test_a_failed_run_keeps_no_secret() -> None:
    for row in ("typing", "confirmed+"):
        failed = p.step(run_at(row), Expired()).run
        assert (failed.nonce, failed.key) == (b"", b"")


@pytest.mark.parametrize("row", sorted(WAYS))
def test_no_secret_is_in_a_representation(row: str) -> None:
    run = run_at(row)
    inputs = right_inputs(run.role, headless=run.headless)
    text = repr((run, inputs["typed"], inputs["key"]))
    assert repr(KEY) not in text
    assert code(written(headless=run.headless), 6) not in text
    if run.state in {State.DIALED, State.ANSWERED}:
        assert repr(DIALER_NONCE) not in text


@pytest.mark.parametrize(
    "typed", ["", "12345", "123456789", "12345a", "١٢٣٤٥٦", "1234\u0661\u0662", "code"]
)  # fmt: skip
def test_what_is_no_code_is_refused_before_it_counts(typed: str) -> None:
    with pytest.raises(MeshError) as refused:
        p.step(run_at("typing"), CodeTyped(code=typed))
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT
    assert typed not in refused.value.message or typed in {"", "code"}


def test_blanks_and_dashes_in_a_code_do_not_matter() -> None:
    right = code(written(headless=False), 6)
    for typed in (f"{right[:3]} {right[3:]}", f" {right[:3]}-{right[3:]}\n"):
        assert p.step(run_at("typing"), CodeTyped(code=typed)).run.state is State.SIGNING


def test_a_longer_code_of_the_other_is_compared_in_full() -> None:
    right = code(written(headless=False), 8)
    assert p.step(run_at("typing"), CodeTyped(code=right)).run.state is State.SIGNING
    wrong = right[:7] + str((int(right[7]) + 1) % 10)
    assert p.step(run_at("typing"), CodeTyped(code=wrong)).run.reason is Reason.WRONG_CODE


def test_a_shorter_code_than_this_node_wants_is_refused() -> None:
    run = replace(run_at("typing"), digits=8)
    with pytest.raises(MeshError, match="8 to 8 digits"):
        p.step(run, CodeTyped(code=code(written(headless=False), 6)))


def test_a_key_of_another_size_is_a_fault_of_this_node() -> None:
    for row in ("deriving+", "preparing+"):
        with pytest.raises(ValueError, match="32 bytes"):
            p.step(run_at(row), KeyDerived(key=b""))


def test_what_is_signed_and_checked_names_the_end_that_signs() -> None:
    run = written(headless=False)
    (mine,) = p.step(run_at("typing"), CodeTyped(code=code(run, 6))).effects
    (theirs,) = p.step(run_at("confirmed"), Confirm(signature=b"s")).effects
    assert mine == Sign(statement=statement(run, Role.DIALER))
    assert theirs == CheckSignature(
        certificate=hello(Role.WAITER).certificate, statement=statement(run, Role.WAITER), signature=b"s"
    )
    assert statement(run, Role.DIALER) != statement(run, Role.WAITER)


def test_the_dialer_holds_the_certificate_to_what_tls_presented() -> None:
    ends = beginnings(presented=fingerprint(pem("attacker")))
    assert p.step(ends.dialer.run, ends.waiter.hello).run.reason is Reason.OTHER_CERTIFICATE
    unknown = beginnings(presented="")
    assert p.step(unknown.dialer.run, ends.waiter.hello).run.reason is Reason.OTHER_CERTIFICATE


def test_the_commitment_is_to_the_certificate_as_well() -> None:
    stolen = replace(hello(Role.DIALER), certificate=pem("attacker"))
    run = p.step(beginnings().waiter, stolen).run
    assert p.step(run, Reveal(nonce=DIALER_NONCE)).run.reason is Reason.WRONG_COMMITMENT
    assert commitment(pem("attacker"), DIALER_NONCE) != hello(Role.DIALER).opening


def test_the_waiter_shows_no_code_before_it_knows_what_was_committed_to() -> None:
    step = p.step(beginnings().waiter, hello(Role.DIALER))
    assert step.effects == (Send(message=hello(Role.WAITER)),)
    assert step.run.run == b""


@pytest.mark.parametrize("nonce", [b"", bytes(31), bytes(33)])
def test_a_nonce_has_its_size(nonce: bytes) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        dial(DIALER, nonce=nonce, presented="")
    with pytest.raises(ValueError, match="32 bytes"):
        wait(WAITER, nonce=nonce)
