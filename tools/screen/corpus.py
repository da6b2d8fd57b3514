"""The labelled texts: read from JSON lines, and parted into what is learnt from and what is only measured on."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ASKS = ("secrets", "credential_files", "env_dump", "guards_off", "merge", "publish", "permission", "send_outside")
ATTACKS = (
    "override", "extraction", "exfil", "conceal", "spoof", "approval", "guard", "worm", "inbox", "jailbreak", "hijack",
)  # fmt: skip
UNKNOWN = "?"  # an ask that nobody has labelled

# Whole repositories and sources that are never learnt from.
HELD_REPOSITORIES = frozenset({
    "tailscale/tailscale", "Textualize/textual", "github/spec-kit", "encode/httpx", "obra/superpowers", "NVIDIA/garak",
    "deadbits/vigil-llm",
})  # fmt: skip
HELD_SOURCES = frozenset(
    {"tau2", "pif_bench", "pallms", "giskard", "garak_payloads", "cyberseceval_sysprompts", "mention"}
)
# Of these there is only one source a language or kind, so a part of each is held, chosen by the text itself.
HELD_IN_PART = frozenset({
    "fastapi_i18n", "tldr", "synth_benign", "synth_benign_encoded", "system_design_primer", "persona_prompts",
    "chat_prompts", "sweagent_traj", "writingbench", "trustairlab_jailbreaks", "pyrit_jailbreaks", "deepset_train",
    "cyberseceval_pi_multi",
})  # fmt: skip
HELD_SHARE = 10  # one in so many
# The decoders undo these before anything is scored, so their raw form teaches nothing.
_ENCODED = (
    "synth_b64", "synth_zws", "synth_hexe", "synth_spaced", "synth_homo", "synth_leet", "synth_bidi", "synth_rot13",
    "synth_url", "synth_full", "synth_tags", "obf:",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A labelled text. `span` is the payload in code points where it is known; `ask` is empty when nothing is asked."""

    text: str
    hostile: bool
    kind: str
    language: str
    source: str
    writer: str  # empty unless somebody wrote it by hand for this screen
    span: tuple[int, int] | None
    ask: str

    @property
    def hard(self) -> bool:
        return self.kind.startswith("hard_")


def read(paths: Iterable[Path]) -> list[Row]:
    """All rows of the files, each text once; a line that is cut off, as of a file still being written, is left out."""
    rows: dict[str, Row] = {}
    for path in paths:
        for line in path.read_text("utf-8").split("\n"):
            try:
                fields = json.loads(line)
            except ValueError:
                continue
            row = _row(path, fields)
            rows.setdefault(row.text, row)
    return list(rows.values())


def _row(path: Path, fields: dict[str, object]) -> Row:
    text, kind = str(fields["text"]), str(fields.get("kind") or fields.get("category") or "")
    hostile, source = fields["label"] == 1, str(fields.get("source") or "")
    writer = "" if source and source != "agent_messages" else path.parent.name if path.stem == "out" else path.stem
    span, payload, place = None, fields.get("payload"), fields.get("span")
    if hostile and isinstance(payload, str) and payload in text:
        span = (text.index(payload), text.index(payload) + len(payload))
    elif hostile and isinstance(place, list):
        span = (int(place[0]), int(place[1]))
    ask = UNKNOWN
    if "ask" in fields:
        ask = str(fields["ask"] or "")
    elif not hostile and not writer:
        ask = ""
    return Row(
        text=text,
        hostile=hostile,
        kind=kind,
        language=str(fields.get("lang") or "en"),
        source=source or writer,
        writer=writer,
        span=span,
        ask=ask if ask in ASKS or ask == UNKNOWN else "",
    )


def encoded(row: Row) -> bool:
    return row.kind.startswith(_ENCODED)


def held(row: Row) -> bool:
    """Whether a row is kept for measuring, by its repository, its source or, within a source, its text."""
    if row.writer:
        return False
    base, _, inner = row.source.partition(":")
    repository = row.kind.partition(":")[2]
    if repository in HELD_REPOSITORIES or base in HELD_SOURCES or inner in HELD_SOURCES:
        return True
    return base in HELD_IN_PART and zlib.crc32(row.text.encode("utf-8", "replace")) % HELD_SHARE == 0


def parted(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """(learnt from, measured on), without encoded texts in the first."""
    return [row for row in rows if not held(row) and not encoded(row)], [row for row in rows if held(row)]


def group(row: Row) -> str:
    """The group in whose name a row is counted: benign ones by what they are, hostile ones by where they are from."""
    base = row.source.partition(":")[0]
    if row.writer:
        return "written_hostile" if row.hostile else "written_hard" if row.hard else _written_benign(row)
    if row.hostile:
        return "encoded_hostile" if encoded(row) else "corpus_hostile"
    if base in ("eng_commits", "eng_docs", "fastapi_i18n", "tldr", "system_design_primer", "sweagent_traj"):
        return "engineering"
    if base in ("synth_benign", "mention"):
        return "trigger_words"
    return "encoded_benign" if base == "synth_benign_encoded" else "chat"


def _written_benign(row: Row) -> str:
    return "written_ask" if row.kind == "ben_ask" else "written_benign"


def by_group(rows: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(group(row), []).append(row)
    yield from sorted(groups.items())
