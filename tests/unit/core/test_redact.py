"""Secrets are taken out whole, ordinary words stay, and a cut never shows half of one."""

from __future__ import annotations

from time import process_time

import pytest

from node.core.redact import preview, redact

# Made up, each with the shape of the real thing; joined here so that no scanner of this repository takes them for one.
SECRETS = {
    "aws": "AKIA" + "Q3EGRIPZK7V4WXMD",
    "github": "ghp" + "_x8Kd02mQvTz5LrYw9BnCj3HsPf7UaGe1RiXo",
    "github-fine": "github_pat" + "_11AAbbCCdd22EEffGG33_hhIIjjKKllMMnnOOpp44QQrrSS",
    "gitlab": "glpat" + "-Zx9yW8vU7tS6rQ5pO4nM",
    "slack": "xoxb" + "-204857162384-5938271640284-AbCdEfGhIjKlMnOp",
    "slack-hook": "hooks.slack.com" + "/services/T01ABCDEF/B02GHIJKL/mNoPqRsTuVwXyZ",
    "anthropic": "sk-ant" + "-api03-kTq81_fZ-Lm20vXcB7nRy4WdE9hJ3sUa6pGi",
    "openai": "sk-proj" + "-Hq7_Lm-2KzXv9TnB4cWy8RdF1jPsE6uGa3oViT5",
    "openai-old": "sk" + "-4kZq9TbW2nXv7LcRy1HdMj8PsFgUeAo3",
    "google": "AIza" + "SyD4kL9-mQ2_xVbT7nRw1ZcYhJf8PsGuE3a",
    "google-oauth": "ya29" + ".a0AfB_byC3dEfGhIjKlMnOpQr-StUvWx",
    "stripe": "sk_live" + "_4eC39HqLyjWDarjtT1zdp7dc",
    "stripe-hook": "whsec" + "_mfkqprpgkyqrtwju+pdilpzioxyzs/qwv=",
    "npm": "npm" + "_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5",
    "pypi": "pypi" + "-AgEIcHlwaS5vcmcCJDdkMzA5YjE4LTg0MjEtNGQ4Yi1iZmU0LTI0NjE",
    "sendgrid": "SG" + ".ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnopKc-1s5cr",
    "telegram": "4839574812" + ":AAFD39kkdpWt3ywyRZergyOLMaJhac60qcJ",
    "jwt": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiJhbm4ifQ" + ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    "pem": "-----BEGIN RSA {0}-----\nMIIEowIBAAKCAQEA0Z3VS5JJcds3\nxfn/ygWyF8\n-----END RSA {0}-----".format(
        "PRIVATE KEY"
    ),
    "mail": "anna.schmidt+test@mail.example.co.uk",
    "random": "q7Lm2KzXv9TnB4cWy8RdF1jPsE6uGa3oViT5Hx0Z",
    "hex": "9f86d081884c7d659a2feaa0c55ad015",
}


# fmt: off
UNITS = [
    "a", "token", "password ", "-", "@", "a@", "a@b.", "://:", "eyJ", 'token="', "-----BEGIN A-----", "--token ", "sk-",
    "A1b2", "x-", "KEY\n", "authorization ", '\\"', "[redacted:x]", " ", "AKIA", "SG.", "hf_", "bearer ",
]
# fmt: on


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("around", ["{}", "use {} please", "({})", "x{}", "{}\nnext", "key was '{}',", "é{}é"])
def test_a_secret_is_known_by_its_shape(secret: str, around: str) -> None:
    text = around.format(secret)
    cleaned = redact(text)
    assert cleaned.count == 1
    assert not [
        secret[start : start + 8] for start in range(len(secret) - 7) if secret[start : start + 8] in cleaned.text
    ]
    assert "[redacted:" in cleaned.text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password: hunter2 and more", "password: [redacted:value] and more"),
        ("Password = hunter2", "Password = [redacted:value]"),
        ("db_passwd=hunter2;next", "db_passwd=[redacted:value]"),
        ('{"password":"a b\\"c","user":"bob"}', '{"password":[redacted:value],"user":"bob"}'),
        (r'"{\"api_key\":\"hunter2\",\"n\":1}"', r'"{\"api_key\":[redacted:value],\"n\":1}"'),
        ("export DB_PASSWORD=correct horse\nnext", "export DB_PASSWORD=[redacted:value]\nnext"),
        ("SIGNING_KEY='one two'\nA=b", "SIGNING_KEY=[redacted:value]\nA=b"),
        ("client_secret => 'abc'", "client_secret => [redacted:value]"),
        ("config['token'] = 'abc'", "config['token'] = [redacted:value]"),
        ("tool --db-password hunter2 --fast", "tool --db-password [redacted:value] --fast"),
        ("token --token hunter2", "token --token [redacted:value]"),
        ("PASSWORD=[redacted:x]real", "PASSWORD=[redacted:value]"),
        ("Authorization: Bearer abc", "Authorization: Bearer [redacted:auth]"),
        (
            "curl -H 'authorization: Basic YTpi' https://a.b",
            "curl -H 'authorization: Basic [redacted:auth]' https://a.b",
        ),
        ('Authorization: Digest username="M", response="66"', "Authorization: [redacted:auth]"),
        ("X-Api-Key: hunter2", "X-Api-Key: [redacted:auth]"),
        ("Set-Cookie: sid=hunter2; Path=/", "Set-Cookie: [redacted:auth]"),
        ("got Bearer abcdefgh1234 back", "got Bearer [redacted:auth] back"),
        ("postgres://app:p@ss/w@db:5432/x", "postgres://app:[redacted:url]@db:5432/x"),
        ("redis://app:12/ab@db/x", "redis://app:[redacted:url]@db/x"),
        ("https://app:12#ab@db/x", "https://app:[redacted:url]@db/x"),
        ("https://me@corp.com:hunter2@host/", "https://[redacted:mail]:[redacted:url]@host/"),
        ("-----BEGIN OPENSSH PRIVATE" + " KEY-----\nb3BlbnNz", "[redacted:pem]"),
        ("İİ password: hunter2", "İİ password: [redacted:value]"),
    ],
)
def test_a_secret_is_known_by_what_stands_before_it(text: str, shown: str) -> None:
    assert redact(text).text == shown


@pytest.mark.parametrize(
    "text",
    [
        "Please ask @payments whether the token check in node/core/policy.py is right; the password page works.",
        "see task-force-management-system-2 and risk-averse-strategy-for-2026-quarter",
        "/home/user/projects/heliograph/node/core/timeline.py:120",
        "http://localhost:3000/@vite/client and https://example.com:443/a?b=c@d",
        "id 123e4567-e89b-12d3-a456-426614174000, exchange abcdefgh23456789, 2026-01-02T03:04:05.123456Z",
        "getUserAccountDetailsFromDatabaseV2 _AsyncGeneratorContextManager",
        "Bearer authentication is required, basic knowledge helps",
        "1234567890123456789012345678901234567890",
        "git@ and user@localhost and @property",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    cleaned = redact(text)
    assert (cleaned.text, cleaned.count) == (text, 0)


def test_each_secret_is_counted_and_what_is_between_stays() -> None:
    cleaned = redact(f"a {SECRETS['aws']} b {SECRETS['github']} c {SECRETS['mail']} d")
    assert cleaned.text == "a [redacted:aws] b [redacted:github] c [redacted:mail] d"
    assert cleaned.count == 3


def test_each_key_block_ends_at_its_own_fence() -> None:
    block = SECRETS["pem"]
    text = f"-----END X-----\n{block} between {block} after"
    assert redact(text).text == "-----END X-----\n[redacted:pem] between [redacted:pem] after"


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_cut_shows_neither_half_a_secret_nor_half_a_mark(secret: str) -> None:
    text = f"before {secret} after"
    for limit in range(1, 60):
        shown = preview(text, limit).text
        assert len(shown) <= limit
        assert shown == redact(text).text or shown.endswith("…")
        assert shown.count("[") == shown.count("]")
        assert shown.removesuffix("…") in redact(text).text


def test_a_text_that_fits_is_not_cut() -> None:
    assert preview("short", 5).text == "short"
    assert preview("longer", 5).text == "long…"


@pytest.mark.parametrize(
    "unit",
    UNITS,
)
def test_time_grows_in_step_with_the_text(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        started = process_time()
        redact(text)
        return process_time() - started

    seconds(1_000)
    small = min(seconds(8_000) for _ in range(3))
    # Sixteen times the text; a rule that looks at every pair of places would take 256 times as long.
    assert min(seconds(128_000) for _ in range(3)) < 100 * max(small, 0.001)
