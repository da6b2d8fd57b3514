"""Whatever surrounds a secret, it does not get through; and redacting twice changes nothing."""

from __future__ import annotations

import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from node.core.redact import preview, redact

WORD = string.ascii_letters + string.digits + "_"
UPPER = string.ascii_uppercase + string.digits
# Prefix, alphabet, length of what is secret. Built here from parts, so that the file itself holds no token.
SHAPES = [
    ("AK" + "IA", UPPER, 16),
    ("AS" + "IA", UPPER, 16),
    ("gh" + "p_", string.ascii_letters + string.digits, 36),
    ("gh" + "s_", string.ascii_letters + string.digits, 36),
    ("github" + "_pat_", WORD, 60),
    ("gl" + "pat-", WORD + "-", 20),
    ("xo" + "xb-", string.digits + "-", 30),
    ("xo" + "xp-", string.ascii_letters + string.digits + "-", 40),
    ("sk-" + "ant-api03-", WORD + "-", 90),
    ("sk-" + "proj-", WORD + "-", 60),
    ("AI" + "za", WORD + "-", 35),
    ("GOC" + "SPX-", WORD + "-", 28),
    ("sk_" + "live_", string.ascii_letters + string.digits, 24),
    ("rk_" + "test_", string.ascii_letters + string.digits, 24),
    ("whs" + "ec_", string.ascii_letters + string.digits + "+/", 32),
    ("np" + "m_", string.ascii_letters + string.digits, 36),
    ("hf" + "_", string.ascii_letters, 34),
    ("ya" + "29.", WORD + "-", 50),
    ("ey" + "J", WORD, 40),
]


def shaped(prefix: str, alphabet: str, length: int) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=length, max_size=length).map(lambda secret: prefix + secret)


def random_text(alphabet: str, length: int) -> st.SearchStrategy[str]:
    """Text as a generator of keys makes it: even, where drawn text would be all of one letter."""
    return st.randoms(use_true_random=True).map(lambda source: "".join(source.choices(alphabet, k=length)))


TOKENS = st.sampled_from(SHAPES).flatmap(lambda shape: shaped(*shape))
JWTS = st.lists(shaped("ey" + "J", WORD + "-", 30), min_size=3, max_size=3).map(".".join)
# Without a prefix the looks alone must do; long enough that chance does not make one look like words.
RUNS = random_text(string.ascii_letters + string.digits + "+/", 64)
PEMS = st.builds(
    lambda body, label: f"-----BEGIN {label}-----\n{body}\n-----END {label}-----",
    random_text(string.ascii_letters + "\n", 80),
    st.sampled_from(["RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]),
)
SECRETS = st.one_of(TOKENS, JWTS, RUNS, PEMS)

# fmt: off
CONFUSING = [
    "password=", "token: ", '"secret":"', "--api-key ", "Authorization: Bearer ", "Cookie: ", "export A_KEY=", "https://u:",
    "@h.com", "[redacted:aws]", "[redacted:", "]", "-----BEGIN X-----", "-----END X-----", "-----END ", "-----", "AKIA",
    "ghp_", "xoxb-", "sk-", "sk-ant-", "sk_live_", "eyJ", "AIza", "SG.", "hooks.slack.com/services/", '\\"', " ", "\n",
    "a" * 70, "a1" * 20,
]
# fmt: on
# Ordinary text, and all that could confuse the rules: pieces of other secrets, names, quotes, marks, fences.
PIECES = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=12),
    st.text("abc AKIAsk-_.:/@=\"'`\\\n0123eyJ", max_size=20),
    st.sampled_from(CONFUSING),
    TOKENS.map(lambda secret: secret[: len(secret) // 2]),
    TOKENS,
)
SURROUNDINGS = st.lists(PIECES, max_size=6).map("".join)


def pieces_of(secret: str, size: int) -> set[str]:
    return {secret[start : start + size] for start in range(len(secret) - size + 1)}


@settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(before=SURROUNDINGS, secret=SECRETS, after=SURROUNDINGS)
def test_no_part_of_a_planted_secret_is_shown(before: str, secret: str, after: str) -> None:
    shown = redact(before + secret + after).text
    # Eight characters in a row come from the secret alone, unless the surroundings held them as well.
    leaked = {piece for piece in pieces_of(secret, 8) if piece in shown and piece not in before and piece not in after}
    assert not leaked


@settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.lists(st.one_of(PIECES, SECRETS), max_size=10).map("".join))
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = redact(text)
    again = redact(once.text)
    assert (again.text, again.count) == (once.text, 0)


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(before=SURROUNDINGS, secret=SECRETS, after=SURROUNDINGS, limit=st.integers(1, 200))
def test_a_preview_is_a_cut_of_the_redacted_text(before: str, secret: str, after: str, limit: int) -> None:
    text = before + secret + after
    shown, whole = preview(text, limit), redact(text)
    assert len(shown.text) <= limit
    assert shown.count == whole.count
    assert shown == whole or whole.text.startswith(shown.text.removesuffix("…"))


@settings(deadline=None, max_examples=200)
@given(secret=st.text(string.ascii_letters + string.digits + "!#$%*+-_~", min_size=4, max_size=30), after=PIECES)
@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("PASSWORD=", ""),
        ("db_password: ", ""),
        ('{"client_secret": "', '"}'),
        ("tool --auth-token ", ""),
        ("postgres://app:", "@db/x"),
        ("Authorization: Basic ", ""),
    ],
)
def test_what_a_name_announces_is_taken_whatever_it_looks_like(
    before: str, behind: str, secret: str, after: str
) -> None:
    line = redact(f"{before}{secret}{behind}\n{after}").text.partition("\n")[0]
    assert line.startswith((before.removesuffix('"') + "[redacted:", before + "[redacted:"))
    assert secret not in line.rpartition("]")[2]
