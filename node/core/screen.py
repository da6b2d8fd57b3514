"""The screen: one pure function from the fields that can reach a model to a verdict.

A message is read as one text, so a phrase split over title and body is still a phrase. Rules and the learnt scorer look
at its canonical form and at each decoded view. Findings near one another add up; a finding which the message merely
quotes and talks about is noted in the timeline, never held back. What asks for something that only a person may grant
is held for one, and what carries a credential goes nowhere.
"""

from __future__ import annotations

import heapq
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from node.core.screen_credentials import Credential, credentials, without_credentials
from node.core.screen_disguises import disguised_passages
from node.core.screen_learned import DISGUISED, LEARNED, LINE, learned_hits, passage_hits
from node.core.screen_match import SNIPPET, Hit, pattern_hits, phrase_hits
from node.core.screen_origin import Origin
from node.core.screen_policy import policy_hits
from node.core.screen_rules import ADVICE, VERSION
from node.core.screen_views import View, canonical, decoded_views, hidden_runs, smuggled_views
from node.core.screen_words import LEXIS
from node.core.secret_names import without_pieces
from node.core.verdict import ASK, CREDENTIAL, DOUBT, Decision, Field, Finding, Verdict

if TYPE_CHECKING:
    # It brings numpy, which most who speak of verdicts never need.
    from node.core.screen_scorer import Scorer

__all__ = ["ENGINE", "ENGINE_LEARNED", "MAX_FINDINGS", "SNIPPET", "layers", "screen", "version_of"]

ENGINE = "rules"
ENGINE_LEARNED = f"{ENGINE}+{LEARNED}"
WITHHOLD_AT = LINE  # per mille
LOG_AT = 300
QUOTED_CAP = 600  # a quotation is logged at most
NEAR = 600  # code points within which findings add up; a long message is no more suspect than a short one
SEAM = 80  # code points on each side of a field's end that are also read as one word
# No honest message quotes these.
_NEVER_QUOTED = frozenset({"hidden", "encoded", CREDENTIAL})
_BREAK = "\n\n"  # stands for what is left out
LAYERS_TIMES, LAYERS_FREE = 8, 65536  # all layers together may be 8 times the message, and 64 Ki code points more
MAX_FINDINGS = 64


def screen(fields: Sequence[Field], scorer: Scorer | None = None) -> Verdict:
    """Judge everything of one message that can reach a model. Total, deterministic, linear in the message's length.

    Without a scorer the rules judge alone.
    """
    # One that is empty parts nothing: its neighbours are read next to each other.
    fields = [field for field in fields if field.text]
    joined = "\n".join(field.text for field in fields)
    secrets = credentials(joined)
    found = [
        *_structural_hits(joined),
        *_credential_hits(secrets),
        *_layer_hits(joined, scorer),
        *(passage_hits(disguised_passages(joined), DISGUISED, scorer) if scorer is not None else ()),
        *_seam_hits(fields),
    ]
    hits = _quotations_marked(joined, _distinct(heapq.nlargest(4 * MAX_FINDINGS, found, key=lambda hit: hit.weight)))
    against = [hit for hit in hits if hit.family not in {ASK, DOUBT}]
    plain_score, best = _score([hit for hit in against if not hit.quoted])
    full_score, best_of_all = _score(against)
    score = max(plain_score, min(full_score, QUOTED_CAP))
    asked = [hit for hit in hits if hit.family == ASK and hit.weight >= WITHHOLD_AT and not hit.quoted]
    doubted = [hit for hit in hits if hit.family == DOUBT and not hit.quoted]
    decision = _decision(score, [*asked, *doubted])
    best = best if best is not None and plain_score >= LOG_AT else best_of_all
    told = [hit for hit in against if hit.family != LEARNED and not hit.quoted and hit.weight >= LOG_AT]
    if best is not None and best.family == LEARNED and told:
        # What a rule finds is known by name, and the advice fits.
        best = max(told, key=lambda hit: hit.weight)
    if decision is Decision.HOLD:
        best = max(asked or doubted, key=lambda hit: hit.weight)
        score = best.weight
    field_starts = list(accumulate((len(field.text) + 1 for field in fields), initial=0))
    return Verdict(
        decision=decision,
        score=score,
        findings=tuple(_finding(hit, fields, field_starts) for hit in hits),
        snippet=_escaped(without_credentials(_shown(best, joined, secrets))) if best is not None else "",
        advice=ADVICE[best.family] if best is not None and decision is not Decision.RELAY else "",
        engine=ENGINE if scorer is None else ENGINE_LEARNED,
        version=VERSION if scorer is None else version_of(scorer),
        asks=tuple(sorted({hit.rule.partition(".")[2] for hit in asked})) if decision is Decision.HOLD else (),
        credentials=bool(secrets),
    )


def _shown(hit: Hit, joined: str, secrets: tuple[Credential, ...]) -> str:
    """The excerpt of a hit without what is left in it of a secret that it was cut in."""
    return hit.excerpt if hit.family == CREDENTIAL or not secrets else without_pieces(hit.excerpt, joined, secrets)


def version_of(scorer: Scorer) -> str:
    """Of the rules, and of the weights with the beginning of their hash."""
    return f"{VERSION}+{scorer.version}.{scorer.digest[:12]}"


def _decision(score: int, for_a_person: Sequence[Hit]) -> Decision:
    if score >= WITHHOLD_AT:
        return Decision.WITHHOLD
    if for_a_person:
        return Decision.HOLD
    return Decision.LOG if score >= LOG_AT else Decision.RELAY


# --- a message to hits ------------------------------------------------------------------------------------------------


def _structural_hits(joined: str) -> Iterator[Hit]:
    for run in hidden_runs(joined):
        excerpt = joined[max(0, run.start - 60) : run.end + 60]
        yield Hit(rule=run.rule, start=run.start, end=run.end, weight=run.weight, view="raw", excerpt=excerpt)


def _credential_hits(secrets: Sequence[Credential]) -> Iterator[Hit]:
    for one in secrets:
        # Its value is shown to nobody, the one who wrote it included: what is shown is kept.
        excerpt = f"[redacted:{one.kind}]"
        yield Hit(
            rule=f"{CREDENTIAL}.{one.kind}", start=one.start, end=one.end, weight=1000, view="raw", excerpt=excerpt
        )


def _layer_hits(joined: str, scorer: Scorer | None) -> Iterator[Hit]:
    """Hits of the canonical text and of all decoded layers; too many layers to read are a reason of their own."""
    for view in layers(joined):
        if view is None:
            yield Hit(rule="encoded.excess", start=0, end=len(joined), weight=1000, view="raw", excerpt=joined[:120])
            return
        yield from phrase_hits(view)
        yield from pattern_hits(view)
        yield from policy_hits(view)
        if scorer is not None:
            yield from learned_hits(view, scorer)


def layers(joined: str) -> Iterator[View | None]:
    """The canonical text and all that is encoded in it, and in that; None when there is more than is read."""
    budget = LAYERS_TIMES * len(joined) + LAYERS_FREE
    queue = [canonical(joined), *smuggled_views(joined)]
    while queue:
        view = queue.pop()
        budget -= len(view.text)
        if budget < 0:
            yield None
            return
        yield view
        queue.extend(decoded_views(view, LEXIS))


def _seam_hits(fields: Sequence[Field]) -> Iterator[Hit]:
    """Hits that only appear when neighbouring fields are read in the other order, or as one word across their ends."""
    if len(fields) < 2:
        return
    starts = list(accumulate((len(field.text) + 1 for field in fields), initial=0))
    for left, right in pairwise(range(len(fields))):
        head, tail = fields[right].text[-SEAM:], fields[left].text[:SEAM]
        offset = starts[right] + len(fields[right].text) - len(head)
        for hit in phrase_hits(canonical(f"{head} {tail}")):
            if hit.start < len(head) < hit.end:
                yield replace(hit, start=offset + hit.start, end=offset + len(head), view="joined")
    text, origin = _glued(fields, starts)
    for hit in phrase_hits(canonical(text)):
        start, end = origin.of(hit.start)[0], origin.of(hit.end - 1)[1]
        if bisect_right(starts, start) != bisect_right(starts, end - 1):
            yield replace(hit, start=start, end=end, view="joined")


def _glued(fields: Sequence[Field], starts: Sequence[int]) -> tuple[str, Origin]:
    """The fields without anything between them, each as far as SEAM from its ends, and where that is in the message."""
    pieces: list[str] = []
    origin = Origin()
    for field, start in zip(fields, starts, strict=False):
        size = len(field.text)
        spans = ((0, SEAM), (size - SEAM, size)) if size > 2 * SEAM else ((0, size),)
        for index, (begin, end) in enumerate(spans):
            if index:
                pieces.append(_BREAK)
                origin.replace(len(_BREAK), start + begin, start + end)
            pieces.append(field.text[begin:end])
            origin.copy(start + begin, start + end)
    return "".join(pieces), origin


# --- hits to a verdict ------------------------------------------------------------------------------------------------

_QUOTES = re.compile(
    r"^ {0,3}```[^\n]{0,80}\n[\s\S]{1,4000}?^ {0,3}```|```[^`]{1,2000}```|``[^`\n]{1,300}``|`[^`\n]{1,300}`"
    r'|"[^"\n]{1,300}"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|„[^“”\n]{1,300}[“”]|「[^」\n]{1,200}」'
    r"|(?<!\w)['‘][^'’\n]{1,300}['’](?!\w)",
    re.MULTILINE,
)
_ABOUT = re.compile(
    r"\b(?:document(?:s|ed|ation)?|readme|tests?|tested|testing|fixtures?|review(?:s|ed|er)?|detect(?:s|ed|or|ors|ion)?"
    r"|refus(?:e|es|ed|ing|al)|reject(?:s|ed)?|examples?|e\.g|such as|phrases?|strings?|payloads?|injections?|attacks?"
    r"|regex(?:es)?|patterns?|scanners?|screen(?:s|ed|ing|er)?|filter(?:s|ed)?|withheld|flag(?:s|ged)?|block(?:s|ed)?"
    r"|held back|false positives?|jailbreaks?|red.?team(?:ing)?|says|said|contain(?:s|ed|ing)|look(?:s)? like|tried to"
    r"|tries to|malicious|adversarial|prompts? like|sentences?|exemplos?|ejemplos?|beispiele?|exemples?|testes"
    r"|pruebas|ataques?|angriff)\b"
)
_COMMANDED = re.compile(
    r"\b(?:follow|obey|execute|comply with|act on|carry out|decode)\b[^.\n]{0,40}\b(?:it|this|that|these|them|below"
    r"|above|the following|instructions?|block|quoted?)\b"
)

_NEGATION = re.compile(r"\b(?:not|never|refus\w{1,3}|cannot|without)\b|n't\b")


def _quotations_marked(joined: str, hits: Sequence[Hit]) -> list[Hit]:
    """Mark the hits inside quotation marks, backticks or code which the message talks about rather than gives."""
    if not hits or all(hit.family in _NEVER_QUOTED for hit in hits):
        return list(hits)
    spans = [match.span() for match in _QUOTES.finditer(joined)]
    outside = _outside(joined, spans)
    starts = [start for start, _ in spans]
    marked: list[Hit] = []
    for hit in hits:
        at = bisect_right(starts, hit.start) - 1
        quoted = (
            at >= 0
            and hit.end <= spans[at][1]
            and hit.family not in _NEVER_QUOTED
            and _talked_about(outside, spans[at])
        )
        marked.append(replace(hit, quoted=quoted))
    return marked


def _outside(joined: str, spans: Sequence[tuple[int, int]]) -> str:
    """The message in lower case with its quotations blanked out, at the same offsets (case must not change length)."""
    pieces: list[str] = []
    copied = 0
    for start, end in spans:
        pieces.extend((joined[copied:start], " " * (end - start)))
        copied = end
    pieces.append(joined[copied:])
    return "".join(pieces)


def _talked_about(outside: str, span: tuple[int, int]) -> bool:
    start, end = span
    near = outside[max(0, start - 200) : end + 120].lower()
    if _ABOUT.search(near) is None:
        return False
    return not any(
        _NEGATION.search(near, max(0, match.start() - 40), match.start()) is None for match in _COMMANDED.finditer(near)
    )


def _distinct(hits: Sequence[Hit]) -> list[Hit]:
    """The heaviest of overlapping hits of one family, at most MAX_FINDINGS, in the order of the message."""
    kept: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (-hit.weight, hit.start, hit.end, hit.rule, hit.view)):
        if len(kept) < MAX_FINDINGS and not any(
            other.family == hit.family and other.start < hit.end and hit.start < other.end for other in kept
        ):
            kept.append(hit)
    return sorted(kept, key=lambda hit: (hit.start, hit.end, hit.rule))


def _score(hits: Sequence[Hit]) -> tuple[int, Hit | None]:
    """The strongest sum of different families within NEAR of one another, and its heaviest hit."""
    best, heaviest = 0, None
    for index, first in enumerate(hits):
        families: dict[str, Hit] = {}
        for hit in hits[index:]:
            if hit.start - first.end > NEAR:
                break
            if hit.family not in families or families[hit.family].weight < hit.weight:
                families[hit.family] = hit
        doubt = 1000
        for hit in families.values():
            doubt = doubt * (1000 - hit.weight) // 1000
        if 1000 - doubt > best:
            best, heaviest = 1000 - doubt, max(families.values(), key=lambda hit: hit.weight)
    return best, heaviest


def _finding(hit: Hit, fields: Sequence[Field], starts: Sequence[int]) -> Finding:
    """The hit in its field; one that crosses fields is placed in the field which holds most of it."""
    first = bisect_right(starts, hit.start) - 1
    best, span, field = -1, (0, 0), fields[0]
    for index in range(min(first, len(fields) - 1), len(fields)):
        if starts[index] >= hit.end and best >= 0:
            break
        length = len(fields[index].text)
        start = min(max(hit.start - starts[index], 0), length)
        end = min(max(hit.end - starts[index], 0), length)
        if end - start > best:
            best, span, field = end - start, (start, end), fields[index]
    return Finding(
        rule=hit.rule, field=field.name, start=span[0], end=span[1], weight=hit.weight, view=hit.view, quoted=hit.quoted
    )


def _escaped(text: str) -> str:
    """At most SNIPPET characters, with everything that is not plainly visible written as an escape."""
    shown: list[str] = []
    room = SNIPPET
    for char in text:
        piece = char if char.isprintable() else f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
        piece = " " if char in "\n\t" else piece
        room -= len(piece)
        if room < 0:
            break
        shown.append(piece)
    return "".join(shown).strip()
