"""Times as people write and read them: local time with its offset out, ISO times and ages in."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from node.core.errors import ErrorCode, MeshError

MICRO = 1_000_000
_AGE = re.compile(r"(\d{1,9})\s*(s|m|h|d|w)", re.ASCII | re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
# Also what datetime can say; beyond it a row's time is shown as the number it is.
LAST_US = int(datetime(9999, 12, 30, tzinfo=UTC).timestamp()) * MICRO


def moment(us: int) -> str:
    """`2027-01-31 09:30:00.250+01:00`: microseconds since 1970 in the local zone, or the bare number beyond 9999."""
    if not 0 <= us <= LAST_US:
        return f"{us} us"
    local = datetime.fromtimestamp(us // MICRO, UTC).replace(microsecond=us % MICRO).astimezone()
    return local.isoformat(sep=" ", timespec="milliseconds")


def day(us: int) -> str:
    """`2027-01-31`: the day of that moment in the local zone."""
    return moment(us).partition(" ")[0] if 0 <= us <= LAST_US else moment(us)


def age(us: int, now_us: int) -> str:
    """`now`, `12s`, `5m`, `3h`, `4d` since `us`; a time still to come is `now`."""
    seconds = max(now_us - us, 0) // MICRO
    if seconds < 1:
        return "now"
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def span(us: int, now_us: int) -> str:
    """`2d 4h`, `3h 12m`, `45s`: how long since `us`, in the two largest units."""
    seconds = max(now_us - us, 0) // MICRO
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        if seconds >= size or parts:
            parts.append(f"{seconds // size}{unit}")
            seconds %= size
    return " ".join(parts[:2]) or "0s"


def point_in_time(text: str, now_us: int) -> int:
    """Microseconds since 1970 of an ISO date or time, or of `2h` / `3d` before now; INVALID_ARGUMENT otherwise.

    A time without an offset is local time; a date alone is its midnight.
    """
    wanted = text.strip()
    if found := _AGE.fullmatch(wanted):
        return max(now_us - int(found[1]) * _SECONDS[found[2].lower()] * MICRO, 0)
    if wanted.lower() == "now":
        return now_us
    try:
        read = datetime.fromisoformat(wanted)
        aware = read if read.tzinfo is not None else read.astimezone()
        whole = int(aware.replace(microsecond=0).timestamp()) * MICRO + aware.microsecond
    except (ValueError, OverflowError, OSError) as error:
        raise MeshError(
            ErrorCode.INVALID_ARGUMENT,
            f"{text[:40]!r} is not a time. Write one like 2027-01-31T09:30, 2027-01-31T09:30+01:00, 2h or 3d.",
        ) from error
    return max(whole, 0)
