#!/usr/bin/env python3
"""What the screen finds and what it flags wrongly, per kind, language, length and source.

    PYTHONPATH=. python tools/screen/measure.py DATA… [--weights FILE] [--json] [--all] [--scorer]

It is the whole screen that is asked, rules and all; `--scorer` asks the learnt scorer alone.

Of a corpus only the held-out rows count (`--all` takes every row); hand-written files count whole, so name only those
which were not trained on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from node.core.screen import screen
from node.core.screen_scorer import Scorer
from node.core.verdict import Decision, Field
from tools.screen.corpus import Row, encoded, group, held, read

WEIGHTS = Path(__file__).parents[2] / "node" / "data" / "screen.npz"
LENGTHS = (80, 160, 500, 1500, 4000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    row: Row
    start: int
    end: int
    withheld: bool
    flagged: bool  # withheld, or held for a person

    @property
    def touches(self) -> bool:
        """Whether the place that would be shown lies on the payload."""
        span = self.row.span
        return span is None or (self.start < span[1] and self.end > span[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    count: int
    withheld: float
    flagged: float


Figures = dict[str, dict[str, Share]]


def judged(scorer: Scorer, rows: Sequence[Row]) -> list[Judged]:
    """By the whole screen."""
    found: list[Judged] = []
    for row in rows:
        verdict = screen([Field(name="text", text=row.text)], scorer)
        start, end = (verdict.decisive.start, verdict.decisive.end) if verdict.decisive else (0, 0)
        withheld = verdict.decision is Decision.WITHHOLD
        found.append(Judged(row=row, start=start, end=end, withheld=withheld, flagged=verdict.stops))
    return found


def scored_alone(scorer: Scorer, rows: Sequence[Row]) -> list[Judged]:
    """By the scorer alone."""
    found: list[Judged] = []
    for row in rows:
        scored = scorer.score(row.text)
        withheld = scored.injection >= scorer.withhold_at
        flagged = withheld or scored.ask >= scorer.hold_at
        found.append(Judged(row=row, start=scored.start, end=scored.end, withheld=withheld, flagged=flagged))
    return found


def _length(row: Row) -> str:
    for limit in LENGTHS:
        if len(row.text) < limit:
            return f"< {limit:>4}"
    return f">= {LENGTHS[-1]}"


def shares(rows: Sequence[Judged], name: Callable[[Row], str]) -> dict[str, Share]:
    parts: dict[str, list[Judged]] = {}
    for one in rows:
        parts.setdefault(name(one.row), []).append(one)
    return {
        key: Share(
            count=len(part),
            withheld=sum(one.withheld for one in part) / len(part),
            flagged=sum(one.flagged for one in part) / len(part),
        )
        for key, part in sorted(parts.items())
    }


def figures(found: Sequence[Judged]) -> Figures:
    """All tables; those named `found` are shares of hostile texts, those named `false` of benign ones."""
    written = [one for one in found if one.row.hostile and one.row.writer]
    corpus = [one for one in found if one.row.hostile and not one.row.writer and not encoded(one.row)]
    disguised = [one for one in found if one.row.hostile and encoded(one.row)]
    benign = [one for one in found if not one.row.hostile]
    hard = [one for one in benign if one.row.hard]
    return {
        "found, written, by kind": shares(written, lambda row: row.kind),
        "found, written, by language": shares(written, lambda row: row.language),
        "found, written, by length": shares(written, _length),
        "found, written, by writer": shares(written, lambda row: row.writer),
        "found, written, all": shares(written, lambda _: "all"),
        "found, corpus, by source": shares(corpus, lambda row: row.source.partition(":")[0]),
        "found, corpus, disguised": shares(disguised, lambda row: row.kind.partition("|")[0]),
        "false, by group": shares(benign, group),
        "false, hard, by kind": shares(hard, lambda row: row.kind),
        "false, by length": shares(benign, _length),
        "place on the payload, of those flagged": _placed([one for one in (*written, *corpus) if one.flagged]),
    }


def _placed(flagged: Sequence[Judged]) -> dict[str, Share]:
    known = [one for one in flagged if one.row.span is not None]
    if not known:
        return {}
    share = sum(one.touches for one in known) / len(known)
    return {"all": Share(count=len(known), withheld=share, flagged=share)}


def speed(scorer: Scorer, text: str) -> dict[str, float]:
    """Milliseconds that the scorer takes for ordinary text of 1 and 16 KB, the median of many."""
    found: dict[str, float] = {}
    for size in (1024, 16384):
        times: list[float] = []
        for turn in range(101):
            start = turn * 997 % max(1, len(text) - size)
            piece = text[start : start + size]
            began = time.perf_counter()
            scorer.score(piece)
            times.append(1000 * (time.perf_counter() - began))
        found[f"{size} characters, ms"] = sorted(times)[len(times) // 2]
    return found


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="measure.py", description="Measure the learnt screen on labelled texts.")
    parser.add_argument("data", nargs="+", type=Path, help="files of JSON lines")
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--scorer", action="store_true", help="the scorer alone")
    parser.add_argument("--all", action="store_true", help="corpus rows that may have been trained on, too")
    options = parser.parse_args(argv)
    scorer = Scorer.load(options.weights.read_bytes())
    rows = [row for row in read(options.data) if options.all or row.writer or held(row)]
    tables = figures((scored_alone if options.scorer else judged)(scorer, rows))
    times = speed(scorer, "\n".join(row.text for row in rows if group(row) == "engineering") or "word " * 20000)
    if options.json:
        plain = {
            table: {key: [share.count, share.withheld, share.flagged] for key, share in part.items()}
            for table, part in tables.items()
        }
        print(json.dumps({"version": scorer.version, "digest": scorer.digest, "figures": plain, "speed": times}))
        return 0
    print(f"version {scorer.version}, withhold at {scorer.withhold_at}, hold at {scorer.hold_at} per mille")
    for table, part in tables.items():
        print(f"\n{table}\n{'':28}{'texts':>7}{'withheld':>10}{'flagged':>10}")
        for key, share in part.items():
            print(f"  {key:<26}{share.count:>7}{share.withheld:>10.4f}{share.flagged:>10.4f}")
    print()
    for name, value in times.items():
        print(f"  {name:<26}{value:>7.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
