"""Takes secrets out of a text before it is kept or shown: each becomes a mark such as [redacted:github].

Every rule looks at the original text and what they find is united, so no rule can cut another's secret in two; then
the result is looked at again until nothing more is found, which makes redacting a redacted text change nothing.
The rules prefer to take too much: what is lost is a few words of a preview, what would leak is a key.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

ELLIPSIS: Final = "…"
MAX_PASSES: Final = 4

Span: TypeAlias = tuple[int, int, str]
"""First index, end index, kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """A text without secrets, how many were taken out of it, and whether it was cut."""

    text: str
    count: int
    cut: bool = False


def redact(text: str) -> Redaction:
    """`text` with every secret replaced by a mark. Idempotent; time grows in step with the text."""
    total = 0
    for _ in range(MAX_PASSES):
        spans = _secrets(text)
        if not spans:
            return Redaction(text=text, count=total)
        total += len(spans)
        text = _replaced(text, spans)
    if not _secrets(text):
        return Redaction(text=text, count=total)
    # A text made to keep yielding secrets is not worth showing, nor worth more passes.
    return Redaction(text=_mark("unstable"), count=total + 1)


def preview(text: str, limit: int) -> Redaction:
    """The whole text redacted and then cut to `limit` (>= 1) characters, never inside a mark, ending in an ellipsis."""
    whole = redact(text)
    if len(whole.text) <= limit:
        return whole
    end = limit - len(ELLIPSIS)
    for mark in _MARK.finditer(whole.text, max(0, end - _LONGEST_MARK)):
        if mark.start() < end < mark.end():
            end = mark.start()
            break
    return Redaction(text=whole.text[:end] + ELLIPSIS, count=whole.count, cut=True)


# ---------------------------------------------------------------------------------------------------------------------
# Tokens known by their shape: kind, prefix, the characters that may follow, how many must. The run after a prefix goes
# as far as its characters do, and these hold the prefix's own: so a token glued to other text, or to another of its
# kind, is taken whole. Each is a pattern of its own, so that none eats the beginning of another.

_WORD: Final = "0-9A-Za-z_"
SHAPES: Final[tuple[tuple[str, str, str, int], ...]] = (
    *(("aws", f"A{rest}", "0-9A-Z", 16) for rest in ("KIA", "SIA", "GPA", "IDA", "ROA", "IPA", "NPA", "NVA", "BIA")),
    *(("github", f"gh{letter}_", _WORD, 20) for letter in "pousr"),
    ("github", "github_pat_", _WORD, 20),
    *(("gitlab", f"gl{part}-", _WORD + ".-", 20) for part in ("pat", "dt", "rt", "soat", "ptt", "cbt", "agent", "ft")),
    ("slack", "xox[a-z][-.]", _WORD + ".-", 10),
    ("slack", "xapp-", _WORD + "-", 10),
    ("slack", r"hooks\.slack\.com/(?:services|workflows|triggers)/", _WORD + "./-", 8),
    ("anthropic", "sk-ant-", _WORD + "-", 16),
    *(("openai", f"sk-{part}-", _WORD + "-", 16) for part in ("proj", "svcacct", "admin", "None", "or-v1")),
    ("openai", "sk-(?=[A-Za-z]{0,64}[0-9])[0-9A-Za-z]{20}", _WORD + "-", 0),
    ("google", "AIza", _WORD + "-", 30),
    ("google", r"ya29\.", _WORD + ".-", 20),
    ("google", "GOCSPX-", _WORD + "-", 20),
    *(("stripe", f"{part}_(?:live|test|prod)_", _WORD, 10) for part in ("sk", "rk", "pk")),
    ("stripe", "whsec_", _WORD + "+/=", 16),
    ("npm", "npm_", _WORD, 30),
    ("pypi", "pypi-", _WORD + "-", 50),
    ("docker", "dckr_pat_", _WORD + "-", 20),
    ("huggingface", "hf_", _WORD, 30),
    ("sendgrid", rf"SG\.[{_WORD}-]{{16,}}+\.", _WORD + ".-", 16),
    ("telegram", "[0-9]{8,10}:AA", _WORD + ":-", 32),
    *(("cloud", f"do{letter}_v1_", _WORD, 24) for letter in "por"),
    *(("shopify", f"shp{part}_", _WORD, 24) for part in ("at", "ca", "pa", "ss")),
    ("linear", "lin_api_", _WORD, 24),
    ("databricks", "dapi", _WORD + "-", 24),
    *(("vault", rf"hv{letter}\.", _WORD + ".-", 24) for letter in "sb"),
    ("age", "AGE-SECRET-KEY-1", "0-9A-Z-", 50),
    # Base64 of an object's opening brace and quote: a signed token with its dotted parts, or one of them alone.
    ("jwt", "eyJ", _WORD + "=.-", 16),
)

# ---------------------------------------------------------------------------------------------------------------------
# Secrets known by what stands before them.

_KEYWORD: Final = (
    r"(?:passw(?:or)?d|passwort|passphrase|passcode|mot_de_passe|contrase[nñ]a|pwd|secret|token|credentials?"
    r"|api[_.-]?key|apikey|access[_.-]?key|account[_.-]?key|private[_.-]?key|signing[_.-]?key|encryption[_.-]?key"
    r"|master[_.-]?key|session[_.-]?key|auth[_.-]?key|service[_.-]?key|connection[_.-]?string|webhook[_.-]?url)"
)
_ANY_MARK: Final = r"\[redacted:[a-z-]{1,16}\]"
_QUOTED: Final = (
    r"\"(?:[^\"\\\r\n]|\\.)*+\"?|'(?:[^'\\\r\n]|\\.)*+'?|`[^`\r\n]*+`?|\\\"(?:(?!\\\")[^\r\n])*+(?:\\\")?"
    rf"|{_ANY_MARK}"
)
# A quoted value takes with it what is glued to its end, as a shell would.
_VALUE: Final = rf"(?P<value>(?:{_QUOTED})[^\s,;)}}\]&|<>]*+|[^\s\"'`]\S*+)"
# Looked for in a lower-case copy, which is five times faster than a pattern that ignores case.
_KEYWORDS: Final = re.compile(rf"{_KEYWORD}[\w.-]{{0,40}}+")
_ASSIGNED: Final = re.compile(rf"(?:\\?[\"'`])?\]?[ \t]{{0,8}}+(?:=>|:=|==?|:)[ \t]{{0,8}}+{_VALUE}")
_FLAG: Final = re.compile(rf"[ \t]{{1,8}}+{_VALUE}")
_ASCII_LOWER: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_FLAG_NAME: Final = re.compile(r"(?:^|[\s\"'`\[(])--?[\w.-]{0,40}$")
# One line of an .env file: its value may hold blanks.
_ENV_LINE: Final = re.compile(
    r"^[ \t]{0,8}(?:export[ \t]{1,8}|set[ \t]{1,8})?"
    r"[A-Z0-9_]{0,60}(?:KEY|TOKEN|SECRET|PASS|PASSWD|PASSWORD|PASSPHRASE|PWD|CREDENTIALS?|SALT|AUTH|DSN|PIN)[0-9_]{0,4}"
    r"[ \t]{0,4}=[ \t]{0,4}(?P<value>\S[^\r\n]*+)",
    re.MULTILINE,
)
_HEADER: Final = re.compile(
    r"(?:proxy-)?authorization(?:\\?[\"'])?[ \t]{0,8}[:=][ \t]{0,8}(?:\\?[\"'])?"
    r"(?:(?:bearer|basic|token|apikey|negotiate)[ \t]{1,8}(?P<token>[^\s\"',;\\]++)|(?P<value>\S[^\r\n]*+))",
    re.IGNORECASE,
)
_KEY_HEADER: Final = re.compile(
    r"(?:x-(?:[a-z]{1,16}+-){0,3}(?:[a-z]{0,8}key|token|auth|signature)|cookie)(?:\\?[\"'])?"
    r"[ \t]{0,8}+:[ \t]{0,8}+(?P<value>\S[^\r\n]*+)",
    re.IGNORECASE,
)
_BEARER: Final = re.compile(
    r"(?:bearer|basic)[ \t]{1,8}+(?=[A-Za-z._~+/=-]{0,80}[0-9])(?P<value>[0-9A-Za-z._~+/=-]{12,}+)", re.IGNORECASE
)
_USER: Final = rf"://(?:{_ANY_MARK}|[^\s:/?#]){{0,200}}+:"
# On the web a number there is a port, and an @ may follow in the path; elsewhere it is the beginning of a password.
_USERINFO: Final = re.compile(
    rf"(?:(?<!http)(?<!https)(?<!ws)(?<!wss){_USER}|{_USER}(?![0-9]{{1,5}}(?:[/?\s]|$)))(?P<value>\S*+)"
)
_MAIL: Final = re.compile(r"(?<![\w.%+-])[\w.%+-]++(?:@[\w-]++(?:\.[\w-]++)*+)++")
_PEM_BEGIN: Final = re.compile(r"(?=-----BEGIN [0-9A-Za-z #]{0,60}-----)")
_PEM_END: Final = re.compile(r"(?=-----END [0-9A-Za-z #]{0,60}-----)")
_PEM_FENCE: Final = re.compile(r"-----[A-Z]{3,5} [0-9A-Za-z #]{0,60}-----")

# ---------------------------------------------------------------------------------------------------------------------
# Secrets known only by their looks: runs in which letters and digits alternate as they do in no language.

_RUN: Final = re.compile(r"[0-9A-Za-z+/_-]{20,}+={0,2}")
_HEX: Final = re.compile(r"[0-9A-Fa-f]{32,}+")
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_WINDOW: Final = 24
_STRIDE: Final = 4
_DISTINCT: Final = 12
# Names in mixed case alternate too, but hardly with digits; a run without many of those has to alternate more.
_ALTERNATIONS: Final = 10
_ALTERNATIONS_WITH_DIGITS: Final = 6
_DIGIT_BORDERS: Final = 3
_CLASSES: Final = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "a" * 26 + "A" * 26 + "0" * 10, "+/_=-"
)
_CASE_BORDER: Final = re.compile(r"(?=aA|Aa)")
_DIGIT_BORDER: Final = re.compile(r"(?=[aA]0|0[aA])")

_MARK: Final = re.compile(_ANY_MARK)
_LONGEST_MARK: Final = len("[redacted:]") + 16


def _mark(kind: str) -> str:
    return f"[redacted:{kind}]"


def _finder(kind: str, pattern: re.Pattern[str]) -> Callable[[str], Iterator[Span]]:
    """Finds what `pattern` matches, or the part of it that carries a group's name."""

    def find(text: str) -> Iterator[Span]:
        for match in pattern.finditer(text):
            group = match.lastgroup or 0
            yield match.start(group), match.end(group), kind

    return find


def _mails(text: str) -> Iterator[Span]:
    for match in _MAIL.finditer(text):
        if "." in match[0][match[0].index("@") :]:
            yield match.start(), match.end(), "mail"


def _url_passwords(text: str) -> Iterator[Span]:
    for match in _USERINFO.finditer(text):
        # A password may hold an unescaped @ or /, so the last @ ends it.
        end = text.rfind("@", match.start("value"), match.end())
        if end > match.start("value"):
            yield match.start("value"), end, "url"


def _named_values(text: str) -> Iterator[Span]:
    """What is assigned to a name with a telling word in it, or follows a flag with such a name."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = text.translate(_ASCII_LOWER)
    done = 0
    for name in _KEYWORDS.finditer(lowered):
        if name.start() < done:
            continue
        value = _ASSIGNED.match(text, name.end())
        if value is None and _FLAG_NAME.search(text, max(0, name.start() - 42), name.start()):
            value = _FLAG.match(text, name.end())
        if value is not None:
            done = value.end()
            yield value.start("value"), done, "value"


def _pem_blocks(text: str) -> Iterator[Span]:
    """Each block from BEGIN to the next END, or to the end of the text if the block was cut off."""
    if "-----BEGIN " not in text:
        return
    ends = [match.start() for match in _PEM_END.finditer(text)]
    for begin in _PEM_BEGIN.finditer(text):
        # Fences may share dashes with what is next to them, so both are looked for at every place.
        following = bisect_left(ends, begin.start() + 1)
        fence = _PEM_FENCE.match(text, ends[following]) if following < len(ends) else None
        yield begin.start(), fence.end() if fence else len(text), "pem"


def _random_runs(text: str) -> Iterator[Span]:
    for match in _RUN.finditer(text):
        run = match[0]
        if _looks_random(run) and _UUID.fullmatch(run) is None:
            yield match.start(), match.end(), "random"


def _looks_random(run: str) -> bool:
    if run.isalpha() or run.isdigit():
        return False
    hexadecimal = _HEX.search(run)
    if hexadecimal and len(set(hexadecimal[0])) >= 8 and not hexadecimal[0].isdigit() and not hexadecimal[0].isalpha():
        return True
    for start in range(0, max(1, len(run) - _WINDOW + _STRIDE), _STRIDE):
        window = run[start : start + _WINDOW]
        if len(set(window)) < _DISTINCT:
            continue
        classes = window.translate(_CLASSES)
        with_digits = len(_DIGIT_BORDER.findall(classes))
        alternations = with_digits + len(_CASE_BORDER.findall(classes))
        if alternations >= (_ALTERNATIONS_WITH_DIGITS if with_digits >= _DIGIT_BORDERS else _ALTERNATIONS):
            return True
    return False


_FINDERS: Final[tuple[Callable[[str], Iterator[Span]], ...]] = (
    *(_finder(kind, re.compile(f"{prefix}[{run}]{{{least},}}+")) for kind, prefix, run, least in SHAPES),
    _pem_blocks,
    _url_passwords,
    _finder("auth", _HEADER),
    _finder("auth", _KEY_HEADER),
    _finder("auth", _BEARER),
    _finder("value", _ENV_LINE),
    _named_values,
    _mails,
    _random_runs,
)


def _secrets(text: str) -> list[Span]:
    """What is to be replaced: sorted, apart from each other, none that is only a mark."""
    found = sorted((span for find in _FINDERS for span in find(text)), key=lambda span: (span[0], -span[1]))
    united: list[Span] = []
    for start, end, kind in found:
        if united and start < united[-1][1]:
            first, last, former = united[-1]
            united[-1] = (first, max(last, end), former)
        else:
            united.append((start, end, kind))
    return [span for span in united if not _MARK.fullmatch(text, span[0], span[1])]


def _replaced(text: str, spans: list[Span]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end, kind in spans:
        pieces += (text[done:start], _mark(kind))
        done = end
    pieces.append(text[done:])
    return "".join(pieces)
