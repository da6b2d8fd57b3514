"""The rules of the screen: the phrases that concepts form, raw patterns, and what a sender is told.

A rule holds in every language at once because it is written over concepts. What separates an attack from a peer's
ordinary "ignore that" is in the rules: whose instructions (all previous, the system's, the user's, yours), who is kept
in the dark, and where secrets go.
"""

from __future__ import annotations

from dataclasses import dataclass

VERSION = "3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A sequence of concepts. In `form`, names joined by `|` are alternatives, a number is the most other words that
    may stand between, with `+` also across a sentence end, with `-` not across a comma; `^` is a sentence start, `$` an
    end, and `!` names concepts that must not follow within four words.
    """

    family: str
    form: str
    weight: int
    negatable: bool = True  # "never reveal ..." cancels it
    languages: frozenset[str] = frozenset()  # of the first concept; empty: any


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A regular expression over the folded text, all repeats of which are bounded.

    It is tried only on a text where of each group of `hints` one occurs, and of `runs`, if there are any, one stands by
    itself between signs and blanks.
    """

    family: str
    hints: tuple[tuple[str, ...], ...]
    regex: str
    weight: int
    runs: frozenset[bytes] = frozenset()


def _phrases(family: str, *rows: tuple[int, str], negatable: bool = True, languages: str = "") -> tuple[Phrase, ...]:
    return tuple(
        Phrase(family=family, form=form, weight=weight, negatable=negatable, languages=frozenset(languages.split()))
        for weight, form in rows
    )


PHRASES: tuple[Phrase, ...] = (
    *_phrases(
        "override",
        (850, "IGNORE 4 ALL|ANY|EVERYTHING 4 PRIOR 3 INSTR|RULE|PROMPT|SYSPROMPT"),
        (850, "IGNORE 3 ALL|ANY|EVERYTHING 3 INSTR|RULE|PROMPT|SYSPROMPT 3 PRIOR|TOLD"),
        (800, "IGNORE 3 PRIOR 3 INSTR|PROMPT|SYSPROMPT"),
        (800, "IGNORE 3 INSTR|PROMPT 3 PRIOR"),
        (700, "IGNORE 3 PRIOR 3 RULE"),
        (700, "IGNORE 3 RULE 2 PRIOR"),
        (750, "IGNORE 2 ALL 3 INSTR !INSIDE|DOC"),
        (350, "IGNORE 2 ANY 3 INSTR !INSIDE|DOC"),
        (800, "IGNORE 3 YOUR 3 INSTR|RULE|SYSPROMPT|GUARD|PROMPT"),
        (750, "DROP 2 YOUR 2 INSTR|RULE|SYSPROMPT|GUARD"),
        (800, "IGNORE 3 SYSPROMPT"),
        (800, "IGNORE 2 SYSTEM 1 INSTR|RULE|PROMPT|GUARD"),
        (800, "IGNORE 3 INSTR|RULE 2 SYSTEM|USER"),
        (750, "IGNORE|DROP 2 USER 3 INSTR|RULE|TASK"),
        (720, "DROP 4 ALL 3 PRIOR 3 INSTR"),
        (700, "DROP 3 SYSPROMPT"),
        (750, "IGNORE|DROP 2 ALL|EVERYTHING 3 YOU 3 TOLD"),
        (720, "IGNORE|DROP 1 EVERYTHING 2 PRIOR"),
        (720, "IGNORE 1 ALL 1 PRIOR $"),
        (750, "IGNORE|DROP 2 EVERYTHING|ALL 4 USER|AUTH|SYSTEM 3 TOLD"),
        (700, "IGNORE 2 ALL|EVERYTHING 3 TOLD 3 USER|PRIOR|SYSTEM"),
        (700, "TASK 3 YOU 4 VOID"),
        (550, "IGNORE 3 ALL 3 PRIOR 3 CONTEXT"),
        (720, "IGNORE|DROP 2 TASK 3 USER"),
        (700, "PRIOR 2 INSTR 4 VOID"),
        (750, "YOUR 4 INSTR|RULE|GUARD|SYSPROMPT 4 VOID"),
        (700, "YOU 3 FREE"),
        (750, "OUTRANK 2 SYSPROMPT|YOUR"),
        (750, "OUTRANK 2 USER 1 WISH"),
        (500, "OUTRANK 2 ALL"),
        (600, "NEW 1 INSTR 3 ROLE|YOU"),
        (450, "^ 0 NEW 0 INSTR $"),
    ),
    *_phrases(
        "override",
        (850, "PRIOR 3 INSTR|RULE|SYSPROMPT|PROMPT 5 IGNORE"),
        (700, "ALL 2 INSTR|SYSPROMPT 3 IGNORE"),
        (750, "YOUR 3 INSTR|RULE|SYSPROMPT 4 IGNORE"),
        languages="ja ko hi tr de nl zh",
    ),
    *_phrases(
        "override",
        (750, "NEG 1 OBEY 3 PRIOR|YOUR|SYSTEM|SYSPROMPT 3 INSTR"),
        (750, "NEG 1 OBEY 3 INSTR 2 PRIOR|YOUR|SYSTEM"),
        (720, "OBEY 2 ONLY 4 MY|ME"),
        (720, "ONLY 3 OBEY 4 MY|ME"),
        (720, "ONLY 3 MY|ME 4 OBEY"),
        (720, "OBEY 2 MY 3 ONLY"),
        negatable=False,
    ),
    *_phrases(
        "extraction",
        (800, "REVEAL 4 YOUR 4 SYSPROMPT|PROMPT"),
        (750, "REVEAL 4 YOUR 2 HIDDEN 3 INSTR|RULE"),
        (700, "REVEAL 2 YOUR 1 INSTR"),
        (450, "REVEAL 3 SYSPROMPT"),
        (750, "YOUR 3 SYSPROMPT 6 REVEAL"),
        (720, "DISCLOSE 3 SYSPROMPT"),
        (500, "REVEAL 5 PROMPT 0 YOU"),
        (600, "VERBATIM 6 SYSPROMPT|PROMPT"),
        (600, "SYSPROMPT 6 VERBATIM"),
    ),
    *_phrases(
        "conceal",
        (720, "NEG 1- TELL 3- USER"),
        (720, "NEG NEED 1 TELL 2 USER"),
        (720, "NEG 1 LET 3 USER|REVIEWER 2 NOTICE"),
        (350, "NEG 0 REVEAL 3- REVIEWER"),
        (700, "USER 1 NEG 0 NEED 1 NOTICE"),
        (700, "USER 0 NEED 0 NEG 1 NOTICE"),
        (650, "NEG 4 TELL 3 REPORT"),
        negatable=False,
    ),
    *_phrases(
        "conceal",
        (720, "TELL 2 USER 2 NEG"),
        (720, "USER 2 NEG 3 TELL"),
        negatable=False,
        languages="de fr nl ru hi ja ko zh",
    ),
    *_phrases("conceal", (720, "USER 3 TELL 2 NEG"), (720, "USER 3 NOTELL"), negatable=False),
    *_phrases("conceal", (300, "ERASE 3 LOGS")),
    *_phrases(
        "spoof",
        (750, "^ 1 MESSAGE 0 FROM 3 AUTH"),
        (450, "^ 0 AUTH 0 MESSAGE $"),
        (700, "MODE 3 ACTIVE"),
        (650, "ACTIVE 2 MODE"),
        (700, "YOU 3 MODE"),
    ),
    *_phrases(
        "approval",
        (720, "USER|AUTH 4 APPROVED 10+ NEG 3 NEED|ASK"),
        (500, "APPROVED 8+ NEG 3 ASK"),
        (450, "NEG 1 ASK 3 USER"),
        (450, "NEG 1 ASK 2 NEED"),
        negatable=False,
    ),
    *_phrases(
        "exfiltration",
        (750, "SEND 6 KEYFILE 10 OUT"),
        (600, "SEND 6 SECRET 10 OUT"),
        (700, "READ 6 KEYFILE|SECRET 10 SEND 6 OUT"),
        (650, "SEND 4 KEYFILE 2 ME"),
        (650, "SEND 1 ME 5 KEYFILE"),
        (600, "SEND|REVEAL 4 YOUR 2 KEYFILE|SECRET"),
        (500, "NEED 1 YOUR 2 KEYFILE|SECRET"),
        (650, "REVEAL 2 KEYFILE 3 HERE"),
        (650, "SEND 4 USER 2 KEYFILE|SECRET"),
        (500, "SEND 1 ME 3 SECRET"),
        (720, "READ 5 KEYFILE 5 SEND 3 ME|HERE"),
        (720, "READ|SEND 4 USER 2 KEYFILE 6 SEND"),
    ),
    *_phrases("exfiltration", (650, "KEYFILE 6 SEND 2 ME"), (500, "KEYFILE 5 SEND"), languages="ja ko hi tr zh"),
    *_phrases(
        "worm",
        (720, "SAVE 1 THIS 2 INSTR|RULE|CONTEXT 5 MEMORY"),
        (450, "SEND 2 THIS 3 AGENTS"),
        (350, "SEND 4 AGENTS"),
    ),
    *_phrases("inbox", (720, "READ 3 INBOX 4 AGENTS"), (720, "READ 3 AGENTS 2 INBOX")),
    *_phrases(
        "guard",
        (700, "OFF 2 YOUR 2 GUARD"),
        (720, "OFF 3 GUARD 3 GUARD"),
        (350, "OFF 2 GUARD"),
    ),
    *_phrases("jailbreak", (750, "YOU 4 ROLE 6 FREE"), (700, "ROLE 4 FREE")),
)


def _groups(hints: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(group.split("~")) for group in hints.split("&"))


PATTERNS: tuple[Pattern, ...] = tuple(
    Pattern(family=family, weight=weight, hints=_groups(hints), regex=regex, runs=frozenset(runs))
    for family, weight, hints, regex, *runs in (
        ("marker", 450, "<|", r"<\|(?:im_start|system)\|?>"),
        ("marker", 500, "[&inst~sys", r"\[/?inst\]|<</?sys>>"),
        ("marker", 450, "<", r"</?(?:system|system[_ ]prompt|system[_ ]message)>"),
        ("marker", 350, "role&system", r"[\"']role[\"']\s{0,3}:\s{0,3}[\"']system[\"']"),
        ("marker", 350, "system~sistema~systeme~система",
         r"(?:^|\n)[ \t>*#-]{0,6}(?:system|sistema|systeme|система)(?: \w{1,12})?\*{0,2} ?:"),
        ("marker", 550, "assistant:", r"assistant: {0,2}(?:understood|sure|ok|yes|of course|i will)\b"),
        ("marker", 500, "end of",
         (r"(?:^|\n)(?:-{2,20} ?|\W{0,6})end of (?:the )? [a-z ]{0,20}(?:message|prompt|document|input"
          r"|instructions)")),
        ("extraction", 720, "what w",
         r"what were you (?:told|instructed|given)\b[^\n]{0,30}\b(?:before|above|prior|initially)"),
        ("extraction", 720, "your&what&instruction~prompt",
         (r"what (?:are|were|is|was) your (?:exact |full |complete )?(?:initial|system|original|starting|hidden"
          r"|secret|first) (?:instructions?|prompt)")),
        ("extraction", 720, "above",
         (r"(?:repeat|output|print|return|copy|translate|write out|spell) (?:out )?(?:everything|all(?: of)?"
          r"|the|your) ?(?:the )?(?:text|words|content|contents|instructions|lines|prompt)? ?(?:that (?:is|are"
          r"|came) )?(?:above|before this)")),
        ("address", 350, "ai~assistant~agent~model~bot&attention~note~message~notice~important~todo",
         (r"(?:attention|note|message|notice|important|todo)[^\n.:]{0,24}\b(?:ai|llm|assistants?|ai agents?"
          r"|language models?|bots?)\b[^\n.:]{0,20}:"),
         b"ai", b"llm", b"assistant", b"assistants", b"model", b"models", b"bot", b"bots"),
        ("address", 350, "language model~ai model~ai agent~ai assistant",
         (r"(?:any|if an?|every|all) (?:ai|language|large language)[ -](?:models?|agents?"
          r"|assistants?)\b[^\n.]{0,40}\b(?:must|has to|have to|should|is reading|reads)\b")),
        ("worm", 450, "pass ", r"pass (?:it|this|these lines|this text|this message) on\b"),
        ("conceal", 500, "traced back", r"(?:can't|cannot|not) be traced back to me\b"),
        ("persona", 350, "in character", r"(?:stay|remain|staying) in character\b"),
        ("persona", 300, "openai~content polic",
         r"(?:openai(?:'s)?|content) (?:content |usage )?(?:policy|policies|guidelines)\b"),
        ("persona", 450, "ethic~moral",
         r"(?:no|without|any|free of|lacks?) (?:\w{1,12} ){0,2}(?:ethics|ethical|morals?|morality)\b"),
        ("conceal", 450, "no trace", r"leav(?:e|ing) no trace"),
        ("conceal", 400, "silently", r"do (?:it|this|so) silently\b"),
        ("conceal", 450, "this message&delete~erase~destroy~wipe", r"(?:delete|erase|destroy|wipe) this message\b"),
        ("spoof", 650, "real user", r"this is the real user\b"),
        ("spoof", 400, "i am ~i'm ~this is &developer~admin~creator~operator~owner",
         (r"(?:i am|i'm|this is) (?:the|your|an?) (?:system |chief |lead )?(?:developer|administrator|admin"
          r"|creator|operator|owner of this)\b")),
        ("approval", 750, "request&consider&approved",
         r"consider (?:all )?(?:of )?my requests? (?:as )?(?:pre-?)?approved"),
        ("worm", 720, "forward this ", r"forward this (?:\w{1,12} )?to (?:all|every|each|other|the other)\b"),
        ("exfiltration", 800, "curl~wget~ncat~nc ",
         (r"(?:\benv\b|\bprintenv\b|~/\.(?:ssh|aws|kube|netrc|gnupg|config)|\bid_(?:rsa|ed25519)|/etc/(?:passwd"
          r"|shadow)|\.env\b)[^\n|]{0,120}\|[^\n]{0,60}\b(?:curl|wget|nc|ncat)\b[^\n]{0,80}(?:-d|--data|-t"
          r"|--upload|--post|http|@)")),
        ("exfiltration", 800, "curl",
         (r"curl\b[^\n]{0,160}(?:-d|--data(?:-\w{1,10})?|-f|--form|-t|--upload-file)[ =]{1,2}[^\n]{0,20}"
          r"(?:\.env\b|\.ssh/|\bid_rsa|/etc/(?:passwd|shadow)|\.aws/)")),
        ("exfiltration", 650, "![",
         r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{1,160}[?&]\w{1,20}=(?:[\[{$<]|key|token|secret|password)"),
        ("jailbreak", 750, "do anything now", r"do anything now\b"),
        ("jailbreak", 750, "you are now dan", r"\byou are now dan\b"),
        ("jailbreak", 600, "jailbr", r"jailbreak mode\b"),
    )
)  # fmt: skip

# What the sending agent is told, by the family of its heaviest finding.
ADVICE: dict[str, str] = {
    "override": "Your text tells the receiver to drop its instructions. Say what you need done as ordinary work; if one"
    " of your own messages no longer holds, name it.",
    "extraction": "Your text asks for the receiver's hidden instructions. Ask for the fact or file you need instead.",
    "conceal": "Your text asks to keep something from a person. Leave that out; people can read every message.",
    "spoof": "Your text speaks in the name of a person or of the system. Write in your own name: the node tells the"
    " receiver who you are, and only a person can act as a person.",
    "marker": "Your text holds role markers of a chat format. Leave them out, or put them in backticks and say they"
    " are an example.",
    "approval": "Your text claims or waives an approval. People give approvals at the node, never in a message; ask for"
    " the work and let the receiver ask for what it needs.",
    "exfiltration": "Your text sends secrets or credential files elsewhere. Ask for the result you need without the"
    " secret, or have a person arrange the access.",
    "worm": "Your text asks to be passed on or kept as instructions. Address each session yourself.",
    "inbox": "Your text asks for other sessions' messages. Ask those sessions directly.",
    "guard": "Your text asks to switch a protection off. Describe what it blocks and let a person decide.",
    "jailbreak": "Your text asks the receiver to act without its rules. Describe the work itself.",
    "address": "Your text speaks to any model that reads it. Address the session you mean, as a colleague.",
    "persona": "Your text asks the receiver to play a part without its rules. Describe the work itself.",
    "learned": "Your text reads like instructions to an agent that go beyond its work. Say what you need done as"
    " ordinary work, in your own name, and leave out what its person has to decide.",
    "ask": "Your text asks for something that only a person may grant. The person at the other end is asked.",
    "doubt": "Your text is encoded, and what it says may be meant to steer the receiver. The person at the other end is"
    " asked first. Write it in the clear, or attach a file.",
    "credential": "Your text holds a credential. Leave it out: say where it is kept, and let the receiver take it from"
    " there.",
    "hidden": "Your text holds characters that people cannot see. Write it again as plain visible text.",
    "encoded": "Your text has too many layers of encoding to be checked. Write it in the clear, or attach a file.",
}
