"""Credentials in messages: what is one, what only looks like one, and that its value goes nowhere."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from node.core.redact import SHAPES
from node.core.screen_credentials import _LEFT_OUT, _MADE_UP, credentials, without_credentials

# Values as they look, made up here and valid nowhere; put together so that no scanner takes this file for a leak.
GITHUB = "ghp_" + "R7kQ2mZp9LxW4tVn8YbC3sHd6JfG1aEu0oXi"
AWS = "AKIA" + "Q3WERTZUIOP7LKJH"
JWT = "eyJhbGciOiJFZERTQSJ9." + "eyJzdWIiOiJib3QtNDQiLCJleHAiOjk5fQ." + "q8Zr1TnB5mKw7LpXs2VdYc4HgJf9QaUe0RtI"
KEY = (
    "-----BEGIN OPENSSH PRIVATE KEY-----\n"
    + "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ" * 3
    + "\n-----END OPENSSH PRIVATE KEY-----"
)
SECRETS = {
    "github": GITHUB,
    "aws": AWS,
    "jwt": JWT,
    "private-key": KEY,
    "slack": "xoxb-" + "731984025561-H3kPz8QwLm2Nv5Rt",
    "anthropic": "sk-ant-" + "api03-Zk8Lq2Wm5Xv9Rt3Yb7Nc",
    "openai": "sk-" + "q7Rt2Lm9Zx4Wv8Kb3Nd6",
    "stripe": "sk_live_" + "Wd84kPz8QwLm2Nv5Rt",
}


@pytest.mark.parametrize(("kind", "value"), SECRETS.items())
def test_a_secret_is_named_and_taken_out_whole(kind: str, value: str) -> None:
    text = f"Use this for the deploy:\n{value}\nand tell me when it is up."
    (found,) = credentials(text)
    assert (found.kind, text[found.start : found.end]) == (kind, value)
    assert without_credentials(text) == f"Use this for the deploy:\n[redacted:{kind}]\nand tell me when it is up."


def test_the_password_of_a_url_goes_and_the_rest_stays() -> None:
    text = "The queue is amqp://worker:" + "pR4-quaint-heron@queue.internal:5672/jobs now."
    assert (
        without_credentials(text) == "The queue is amqp://worker:[redacted:url-password]@queue.internal:5672/jobs now."
    )


def test_a_line_of_an_env_file_loses_its_value() -> None:
    text = "PORT=8080\nSESSION_SECRET=k3v9q" + "z7m2x8w\nDEBUG=1\nexport API_TOKEN='a1b2c3d4'"
    assert without_credentials(text) == (
        "PORT=8080\nSESSION_SECRET=[redacted:env-line]\nDEBUG=1\nexport API_TOKEN='[redacted:env-line]'"
    )


@pytest.mark.parametrize(
    "text",
    [
        "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
        "postgresql://postgres:password@localhost/app",
        "mysql://app:${DB_PASSWORD}@db/app",
        "API_KEY=<your key>",
        "TOKEN=$(cat token.txt)",
        "A line that begins with -----BEGIN PRIVATE KEY----- is refused by the hook.",
        "The prefix of their tokens is ghp_ followed by 36 letters and digits.",
        "git show 9f3c1e7a4b2d8056c1e7f3a9b4d2c8e6f1a3b5d7",
        "KEYBOARD=de-latin1",
        "CACHE_KEY=invoices",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert credentials(text) == ()
    assert without_credentials(text) is text


# What looks ahead cannot be made up from its pattern; the secrets above have one of it.
SHAPED = [
    (kind, re.compile(f"{prefix}[{run}]{{{least}}}", re.ASCII))
    for kind, prefix, run, least in SHAPES
    if prefix not in _LEFT_OUT and "(?=" not in prefix
]


@given(shape=st.sampled_from(SHAPED), data=st.data())
def test_every_shape_is_found(shape: tuple[str, re.Pattern[str]], data: st.DataObject) -> None:
    kind, pattern = shape
    value = data.draw(st.from_regex(pattern, fullmatch=True))
    assume(_MADE_UP.search(value) is None)
    assert kind in {one.kind for one in credentials(f"say {value} here")}


@given(st.text(max_size=200), st.sampled_from(sorted(SECRETS)), st.text(max_size=200))
def test_wherever_a_secret_stands_nothing_of_it_stays(before: str, kind: str, after: str) -> None:
    text = f"{before}\n{SECRETS[kind]}\n{after}"
    cleaned = without_credentials(text)
    assert SECRETS[kind][12:30] not in cleaned
    assert without_credentials(cleaned) == cleaned
