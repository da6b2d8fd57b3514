"""The pairing machine: one run of either end, from the first word to a peer or to nothing (docs/adr/0031-pairing.md).

One table from (state, input) to what changes and what is to be done. Messages out of order end the run; anything else
that does not fit is refused and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from node.core.errors import ErrorCode, MeshError
from node.core.pairing_code import MOST_DIGITS, code, commitment, proof, same, statement, transcript
from node.core.pairing_events import (
    Agreed,
    AskCode,
    AskConfirm,
    CheckSignature,
    CodeTyped,
    Declined,
    DeriveKey,
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
from node.core.pairing_messages import (
    KEY_BYTES,
    Abort,
    Confirm,
    Hello,
    Reason,
    Reveal,
    Role,
    abort_reason,
    confirm_fits,
    fingerprint,
    hello_fault,
    reveal_fits,
)
from node.core.pairing_run import Run, State, Step, other_of, theirs_of

Transition = Callable[[Run, Input], Step]
_Row = dict[type[object], Transition]
_I = TypeVar("_I")


# --- what the messages do --------------------------------------------------------------------------------------------


def _met(run: Run, theirs: Hello) -> Step:
    """The first word of the other end, on either side."""
    fault = hello_fault(theirs) or _misfit(run, theirs)
    if fault is not None:
        return _fail(run, fault)
    heard = replace(run, theirs=theirs)
    if run.headless:
        following = State.DERIVING if run.role is Role.DIALER else State.PREPARING
        return Step(run=replace(_written(heard), state=following), effects=(DeriveKey(message=theirs.pake),))
    if run.role is Role.WAITER:
        return Step(run=replace(heard, state=State.ANSWERED), effects=(Send(message=run.hello),))
    asked = replace(_written(heard), state=State.TYPING)
    return Step(run=asked, effects=(Send(message=Reveal(nonce=run.nonce)), AskCode(other=other_of(asked))))


def _misfit(run: Run, theirs: Hello) -> Reason | None:
    if bool(theirs.pake) is not run.headless:
        return Reason.OTHER_WAY
    certificate = fingerprint(theirs.certificate)
    if certificate == fingerprint(run.hello.certificate):
        return Reason.SAME_NODE
    if run.role is Role.DIALER and not same(certificate, run.presented):
        return Reason.OTHER_CERTIFICATE
    return None


def _revealed(run: Run, reveal: Reveal) -> Step:
    theirs = theirs_of(run)
    if not reveal_fits(reveal):
        return _fail(run, Reason.MALFORMED)
    if not same(commitment(theirs.certificate, reveal.nonce), theirs.opening):
        return _fail(run, Reason.WRONG_COMMITMENT)
    shown = replace(_written(replace(run, nonce=reveal.nonce)), state=State.SHOWING)
    return Step(run=shown, effects=(Show(code=code(shown.run, run.digits), other=other_of(shown)),))


def _confirmed(checking: State) -> Callable[[Run, Confirm], Step]:
    def confirm(run: Run, given: Confirm) -> Step:
        if not confirm_fits(given, headless=run.headless):
            return _fail(run, Reason.MALFORMED)
        other_role = Role.WAITER if run.role is Role.DIALER else Role.DIALER
        if run.headless and not same(proof(run.key, run.run, other_role), given.proof):
            return _fail(run, Reason.WRONG_CODE)
        check = CheckSignature(
            certificate=theirs_of(run).certificate,
            statement=statement(run.run, other_role),
            signature=given.signature,
        )
        return Step(run=replace(run, state=checking), effects=(check,))

    return confirm


def _aborted(run: Run, given: Abort) -> Step:
    return _fail(run, abort_reason(given), theirs=True)


# --- what people and this node do ------------------------------------------------------------------------------------


def _typed(run: Run, given: CodeTyped) -> Step:
    digits = "".join(given.code.split()).replace("-", "")
    if not (digits.isascii() and digits.isdigit() and run.digits <= len(digits) <= MOST_DIGITS):
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"A pairing code has {run.digits} to {MOST_DIGITS} digits. Type the one that the other node's screen "
            "shows; nothing was compared yet.",
        )
    if not same(code(run.run, len(digits)), digits):
        return _fail(run, Reason.WRONG_CODE)
    return _sign(run, State.SIGNING)


def _agreed(run: Run, _given: Agreed) -> Step:
    return _sign(run, State.SEALING)


def _sign(run: Run, signing: State) -> Step:
    return Step(run=replace(run, state=signing), effects=(Sign(statement=statement(run.run, run.role)),))


def _derived_by_dialer(run: Run, given: KeyDerived) -> Step:
    return _sign(replace(run, key=_whole(given.key)), State.SIGNING)


def _derived_by_waiter(run: Run, given: KeyDerived) -> Step:
    return Step(run=replace(run, key=_whole(given.key), state=State.PROVING), effects=(Send(message=run.hello),))


def _signed_by_dialer(run: Run, given: Signed) -> Step:
    return Step(run=replace(run, state=State.CONFIRMED), effects=(Send(message=_confirm(run, given)),))


def _signed_by_waiter(run: Run, given: Signed) -> Step:
    # Recorded first: the dialer counts on the peer from the moment that it hears of it.
    effects = (Paired(other=other_of(run)), Send(message=_confirm(run, given)))
    return Step(run=replace(run, state=State.PAIRED, key=b""), effects=effects)


def _confirm(run: Run, given: Signed) -> Confirm:
    shown = proof(run.key, run.run, run.role) if run.headless else b""
    return Confirm(signature=given.signature, proof=shown)


def _checked_by_dialer(run: Run, given: SignatureChecked) -> Step:
    if not given.ok:
        return _fail(run, Reason.BAD_SIGNATURE)
    return Step(run=replace(run, state=State.PAIRED, key=b""), effects=(Paired(other=other_of(run)),))


def _checked_by_waiter(run: Run, given: SignatureChecked) -> Step:
    if not given.ok:
        return _fail(run, Reason.BAD_SIGNATURE)
    if run.headless:
        return _sign(run, State.SEALING)
    return Step(run=replace(run, state=State.DECIDING), effects=(AskConfirm(other=other_of(run)),))


def _ends(reason: Reason) -> Transition:
    return lambda run, _given: _fail(run, reason)


def _same(run: Run, _given: Input) -> Step:
    return Step(run=run)


def _whole(key: bytes) -> bytes:
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes, not {len(key)}")
    return key


# --- pieces ----------------------------------------------------------------------------------------------------------


def _written(run: Run) -> Run:
    """With the transcript, of which everything is known now."""
    dialer, waiter = (run.hello, theirs_of(run)) if run.role is Role.DIALER else (theirs_of(run), run.hello)
    return replace(run, run=transcript(dialer, waiter, run.nonce))


# The other end has a way to have tried a code once the run is here: without a pair, that try counts.
_GUESSED: Final = frozenset({State.SHOWING, State.CHECKING, State.DECIDING, State.SEALING})
_PROOF_IS_OUT: Final = frozenset({State.CONFIRMED, State.VERIFYING})


def _fail(run: Run, reason: Reason, *, theirs: bool = False) -> Step:
    if theirs:
        burned = reason is Reason.WRONG_CODE and run.state in _GUESSED
    else:
        burned = reason in {Reason.WRONG_CODE, Reason.BAD_SIGNATURE}
    # Whoever has the dialer's proof knows whether its own guess was right, and may keep silent about it.
    burned = burned or (run.headless and run.state in _PROOF_IS_OUT)
    told = () if theirs or reason is Reason.LOST else (Send(message=Abort(reason=reason.value)),)
    failed = replace(run, state=State.FAILED, reason=reason, nonce=b"", key=b"")
    # The end counts before the other is told of it: whoever takes nothing in must not be able to undo it.
    return Step(run=failed, effects=(Ended(reason=reason, theirs=theirs, burned=burned), *told))


def is_given_away(run: Run) -> bool:
    """Whether the code counts as tried when the run comes to nothing now because this node cannot go on."""
    return run.headless and run.role is Role.DIALER and run.state in _PROOF_IS_OUT | {State.PAIRED}


# --- the table -------------------------------------------------------------------------------------------------------


def _on(kind: type[_I], do: Callable[[Run, _I], Step]) -> _Row:
    def transition(run: Run, given: Input) -> Step:
        if not isinstance(given, kind):
            raise TypeError(given)
        return do(run, given)

    return {kind: transition}


_WHILE_OPEN: Final[_Row] = {
    Hello: _ends(Reason.OUT_OF_ORDER),
    Reveal: _ends(Reason.OUT_OF_ORDER),
    Confirm: _ends(Reason.OUT_OF_ORDER),
    **_on(Abort, _aborted),
    Declined: _ends(Reason.DECLINED),
    Unreadable: _ends(Reason.MALFORMED),
    Lost: _ends(Reason.LOST),
    Expired: _ends(Reason.EXPIRED),
}
# What was on its way when the run ended.
_WHEN_OVER: Final[_Row] = {Abort: _same, Lost: _same, Expired: _same, Unreadable: _same}
_WHEN_FAILED: Final[_Row] = _WHEN_OVER | {
    Hello: _same, Reveal: _same, Confirm: _same, KeyDerived: _same, Signed: _same, SignatureChecked: _same,
}  # fmt: skip

_ROWS: Final[dict[State, _Row]] = {
    State.DIALED: _WHILE_OPEN | _on(Hello, _met),
    State.TYPING: _WHILE_OPEN | _on(CodeTyped, _typed),
    State.DERIVING: _WHILE_OPEN | _on(KeyDerived, _derived_by_dialer),
    State.SIGNING: _WHILE_OPEN | _on(Signed, _signed_by_dialer),
    State.CONFIRMED: _WHILE_OPEN | _on(Confirm, _confirmed(State.VERIFYING)),
    State.VERIFYING: _WHILE_OPEN | _on(SignatureChecked, _checked_by_dialer),
    State.WAITING: _WHILE_OPEN | _on(Hello, _met),
    State.ANSWERED: _WHILE_OPEN | _on(Reveal, _revealed),
    State.SHOWING: _WHILE_OPEN | _on(Confirm, _confirmed(State.CHECKING)),
    State.PREPARING: _WHILE_OPEN | _on(KeyDerived, _derived_by_waiter),
    State.PROVING: _WHILE_OPEN | _on(Confirm, _confirmed(State.CHECKING)),
    State.CHECKING: _WHILE_OPEN | _on(SignatureChecked, _checked_by_waiter),
    State.DECIDING: _WHILE_OPEN | _on(Agreed, _agreed),
    State.SEALING: _WHILE_OPEN | _on(Signed, _signed_by_waiter),
    State.PAIRED: _WHEN_OVER,
    State.FAILED: _WHEN_FAILED,
}
TRANSITIONS: Final[dict[tuple[State, type[object]], Transition]] = {
    (state, kind): do for state, row in _ROWS.items() for kind, do in row.items()
}


def step(run: Run, given: Input) -> Step:
    """What `given` does to `run`; WRONG_STATE when the pair has no row in the table."""
    transition = TRANSITIONS.get((run.state, type(given)))
    if transition is None:
        raise MeshError(
            ErrorCode.WRONG_STATE,
            f"{type(given).__name__} does not fit this pairing now: {run.state.words}. Nothing was changed.",
            {"state": run.state.value},
        )
    return transition(run, given)
