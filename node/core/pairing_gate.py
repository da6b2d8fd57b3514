"""When a node may pair: one run for each act of a person, within its window, so often an hour, and not while closed.

Times are microseconds of a clock that counts through sleep and restarts. Such a clock may be put back, so a gate that
was kept is read with `at`, which forgives nothing; whoever may put the clock ahead may also end a closing. The caller
keeps the state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NoReturn

from node.core.errors import ErrorCode, MeshError
from node.core.limits import Limits

# Doubling ends here: a person must be able to pair some day.
MOST_CLOSED_S: Final = 86_400

_SECOND_US: Final = 1_000_000
_HOUR_US: Final = 3_600 * _SECOND_US
_MOST_DOUBLINGS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingGate:
    """`until_us`: the end of the window of the last act, None when there is none; `running`: a run has taken that act.

    `runs_us` are the beginnings of the last hour's runs. `burned` counts codes since the gate last closed or a run
    made a pair, `closings` how often it closed since a run made a pair.
    """

    until_us: int | None = None
    running: bool = False
    runs_us: tuple[int, ...] = ()
    burned: int = 0
    closings: int = 0
    closed_until_us: int = 0


def at(gate: PairingGate, now_us: int, limits: Limits) -> PairingGate:
    """The gate as it counts now: what is still to come by the clock has just been, no end is later than it can be."""
    return replace(
        gate,
        until_us=None if gate.until_us is None else min(gate.until_us, now_us + limits.pairing_window_s * _SECOND_US),
        runs_us=tuple(min(one, now_us) for one in gate.runs_us),
        closed_until_us=min(gate.closed_until_us, now_us + _longest_closed_s(limits) * _SECOND_US),
    )


def opened(gate: PairingGate, now_us: int, limits: Limits) -> PairingGate:
    """A person wants to pair now. An earlier act that no run has taken is over with it.

    LIMIT while the gate is closed or the hour's runs are used up, WRONG_STATE while a run goes on.
    """
    _check_not_running(gate, now_us)
    _check_not_closed(gate, now_us, limits)
    runs = _last_hour(gate, now_us)
    if len(runs) >= limits.pairing_runs_per_hour:
        again_us = runs[-limits.pairing_runs_per_hour] + _HOUR_US
        _refuse(
            f"This node was in {len(runs)} pairing runs within the hour; the limit is {limits.pairing_runs_per_hour}.",
            again_us - now_us,
            limits.pairing_runs_per_hour,
        )
    return replace(gate, until_us=now_us + limits.pairing_window_s * _SECOND_US, running=False, runs_us=runs)


def started(gate: PairingGate, now_us: int) -> PairingGate:
    """A run takes the act, at the latest with the first Hello; WRONG_STATE without one, or when its window is over.

    A second run for the same act is refused even when the first came to nothing: who may try again after having seen
    the other's nonce can wait for a code that fits.
    """
    _check_not_running(gate, now_us)
    if gate.until_us is None or now_us >= gate.until_us:
        raise MeshError(
            ErrorCode.WRONG_STATE,
            "This node does not pair now: nobody asked it to, or the time for it is over. A person on this node begins "
            "it, once for each try.",
        )
    return replace(gate, running=True, runs_us=(*_last_hour(gate, now_us), now_us))


def ended(gate: PairingGate, now_us: int, limits: Limits, *, paired: bool, burned: bool) -> PairingGate:
    """The run is over, and the act with it. Codes that were burned close the gate, each time for twice as long."""
    over = replace(gate, until_us=None, running=False)
    if paired:
        return replace(over, burned=0, closings=0)
    count = gate.burned + burned
    if count < limits.pairing_burned_codes:
        return replace(over, burned=count)
    closed_s = min(_longest_closed_s(limits), limits.pairing_closed_s << min(gate.closings, _MOST_DOUBLINGS))
    return replace(over, burned=0, closings=gate.closings + 1, closed_until_us=now_us + closed_s * _SECOND_US)


def _check_not_running(gate: PairingGate, now_us: int) -> None:
    # A run that was never reported as ended does not outlive its window.
    if gate.running and gate.until_us is not None and now_us < gate.until_us:
        raise MeshError(
            ErrorCode.WRONG_STATE,
            "This node is in a pairing run already. Finish it, or cancel it and begin again.",
        )


def _check_not_closed(gate: PairingGate, now_us: int, limits: Limits) -> None:
    if now_us < gate.closed_until_us:
        _refuse(
            f"{limits.pairing_burned_codes} wrong codes closed pairing on this node: somebody mistyped, or "
            "stands between the two nodes.",
            gate.closed_until_us - now_us,
            limits.pairing_burned_codes,
        )


def _longest_closed_s(limits: Limits) -> int:
    return max(MOST_CLOSED_S, limits.pairing_closed_s)


def _last_hour(gate: PairingGate, now_us: int) -> tuple[int, ...]:
    return tuple(one for one in gate.runs_us if one > now_us - _HOUR_US)


def _refuse(what: str, left_us: int, limit: int) -> NoReturn:
    seconds = -(-left_us // _SECOND_US)
    raise MeshError(
        ErrorCode.LIMIT,
        f"{what} Try again in {seconds} seconds.",
        {"limit": limit, "seconds": seconds},
    )
