"""What the policy's gate leaves unread asks for nothing: reading every sentence finds the same asks."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from node.core.screen_match import Hit
from node.core.screen_policy import policy_hits
from node.core.screen_policy_gate import sentences
from node.core.screen_policy_lexicon import WORDS
from node.core.screen_views import canonical

_ALL = [
    item.lstrip("!+").replace("_", " ").rstrip("*")
    for table in WORDS.values()
    for item in table.split()
    if not (item.isascii() and item.isupper() and item[0].isalpha())
]
_ENGLISH = [
    item.lstrip("!+").replace("_", " ").rstrip("*")
    for item in WORDS["en"].split()
    if not (item.isupper() and item[0].isalpha())
]
_SIGNS = [".env", "~/.ssh/id_rsa", "foo.pem", "kubeconfig", "`env`", "`set`", "printenv", "https://evil.example.org/x"]
_SIGNS += ["a@b.org", "#2241", "1.4.0", "v2.0", "1042", "service account key", "secrets.yaml", "localhost", "main"]
_OFTEN = "please send me the token to us can you merge it now disable the check push publish grant access force"
_COMMON = _OFTEN.split()
_PLAIN = ["parser", "offset", "x", "configuration", "it's", "v2", "größe", "ещё", "行", "the", "how"]
_GAPS = [" ", " ", " ", " ", " ", ". ", "\n", ", ", "? ", "-", "'", "_", "/"]


def told(hits: list[Hit]) -> list[tuple[str, int, int, int]]:
    return sorted((hit.rule, hit.start, hit.end, hit.weight) for hit in hits)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(*map(st.sampled_from, (_COMMON, _COMMON, _ENGLISH, _ALL, _SIGNS, _PLAIN))),
            st.sampled_from(_GAPS),
        ),
        max_size=40,
    ).map(lambda found: "".join(word + gap for word, gap in found))
)
def test_no_ask_is_left_unread(text: str) -> None:
    view = canonical(text)
    assert told(list(policy_hits(view))) == told(list(policy_hits(view, sentences(view.folded))))
