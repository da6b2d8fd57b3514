"""Back-off with full jitter: the wait before another try, drawn so that those who failed at once spread out."""

from __future__ import annotations

from typing import Final

# Doubling on beyond this is beyond any cap, and a float ends somewhere.
_MOST_DOUBLINGS: Final = 62


def delay(attempt: int, *, base_s: float, cap_s: float, fraction: float) -> float:
    """Seconds to wait after failure number `attempt` (from 0): `fraction`, drawn from [0, 1), of a bound that doubles.

    The bound begins at `base_s` and ends at `cap_s`.
    """
    if attempt < 0 or base_s <= 0 or cap_s < base_s or not 0 <= fraction < 1:
        raise ValueError(f"no back-off has attempt {attempt}, base {base_s}, cap {cap_s}, fraction {fraction}")
    return fraction * min(cap_s, base_s * float(1 << min(attempt, _MOST_DOUBLINGS)))
