"""The timeline as OCSF events, a JSON object each: what a row means in a schema that other tools know.

Every row is an API Activity (6003); one that was withheld is a Detection Finding (2004) as well. Nothing of a row is
lost: its exact bytes are `raw_data`. What the schema has no place for is under `unmapped`.

With 1.9 each event carries a fingerprint of itself (SHA-256 of its RFC 8785 form without the fingerprint) and points to
the event before it. That chain is of the export; what ties a row to its log is in the row's own bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from typing import Final, TypeAlias

from node.core.canonical import JsonValue
from node.core.export_record import Offset, Record, ascii_json, utc_text
from node.core.row_codes import UNDELIVERED, RowDecision
from node.core.text import well_formed

Object: TypeAlias = "dict[str, JsonValue]"

VENDOR: Final = "heliograph"
API_ACTIVITY: Final = 6003
DETECTION_FINDING: Final = 2004
_SHA256: Final = 3
_OTHER: Final = 99
_PER_CENT: Final = 10
# How the bytes that were hashed came about, as OCSF 1.9 counts it.
_FLAT: Final = (1, "Flat")
_JCS_FORM: Final = (2, "JCS")

_JCS: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"), sort_keys=True
)


class Version(StrEnum):
    """The versions of OCSF that are written; the older one has no agents, delegations or attestations."""

    V1_8 = "1.8"
    V1_9 = "1.9"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The event which the next row's event points to."""

    seq: int
    uid: str
    type_uid: int
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Meaning:
    """A decision as OCSF counts it: action and disposition by number and caption."""

    action: int
    action_words: str
    disposition: int
    disposition_words: str
    failed: bool = False


_ALLOWED: Final = _Meaning(action=1, action_words="Allowed", disposition=1, disposition_words="Allowed")
_BLOCKED: Final = _Meaning(action=2, action_words="Denied", disposition=2, disposition_words="Blocked", failed=True)
_REJECTED: Final = _Meaning(action=2, action_words="Denied", disposition=25, disposition_words="Rejected", failed=True)
_DELAYED: Final = _Meaning(action=_OTHER, action_words="Held", disposition=14, disposition_words="Delayed")
_ERROR: Final = _Meaning(action=3, action_words="Observed", disposition=27, disposition_words="Error", failed=True)
_LOGGED: Final = _Meaning(action=3, action_words="Observed", disposition=17, disposition_words="Logged")
_D: Final = RowDecision
_DECISIONS: Final[Mapping[str, _Meaning]] = {
    **dict.fromkeys((_D.RELAYED, _D.APPROVED, _D.RELEASED), _ALLOWED),
    **dict.fromkeys((_D.ALLOWED_ONCE, _D.ALLOWED_SESSION, _D.ALLOWED_ALWAYS), _ALLOWED),
    _D.WITHHELD: _BLOCKED,
    **dict.fromkeys((_D.REFUSED, _D.REFUSED_BY_PERSON, _D.DENIED, _D.LINK_REFUSED), _REJECTED),
    _D.HELD: _DELAYED,
    **dict.fromkeys((*UNDELIVERED, _D.LAUNCH_FAILED), _ERROR),
}
# Which of the four things an API does a kind of row is about; the others have a name of their own.
_ACTIVITIES: Final[Mapping[str, tuple[int, str]]] = {
    "message": (1, "Create"),
    "export": (2, "Read"),
    "outcome": (3, "Update"),
    "policy": (3, "Update"),
    "prune": (4, "Delete"),
}


def events(
    record: Record, offset: Offset, *, version: Version = Version.V1_9, before: Link | None = None
) -> tuple[bytes, Link]:
    """The lines for a row, and the link which the next row's event is to have."""
    activity = _api_activity(record, offset, version)
    link = _sealed(activity, record, version, _previous(record, before))
    lines = ascii_json(activity) + "\n"
    if record.text("decision") == "withheld":
        finding = _finding(record, offset, version, link)
        link = _sealed(finding, record, version, link)
        lines += ascii_json(finding) + "\n"
    return lines.encode("ascii"), link


def jcs(event: Object) -> bytes:
    """The event in its RFC 8785 form: it holds no float and its keys are ASCII, so sorted JSON in UTF-8 is that."""
    return _JCS.encode(event).encode("utf-8", "surrogatepass")


def _api_activity(record: Record, offset: Offset, version: Version) -> Object:
    kind = record.text("row") or "damaged"
    number, words = _ACTIVITIES.get(kind, (_OTHER, kind))
    event = _base(record, offset, version, API_ACTIVITY, number)
    event |= {
        "category_uid": 6,
        "category_name": "Application Activity",
        "class_name": "API Activity",
        "activity_name": words,
        "type_name": f"API Activity: {words if number != _OTHER else 'Other'}",
        "status_id": 2 if _meaning(record).failed else 1,
        "status": "Failure" if _meaning(record).failed else "Success",
        "api": _api(record),
        "actor": _actor(record, version),
        "src_endpoint": _endpoint(record, "from"),
        "raw_data": record.data.hex() if record.fields is None else record.data.decode("ascii"),
        "raw_data_size": len(record.data),
        "raw_data_hash": _fingerprint(sha256(record.data).hexdigest(), version, *_FLAT),
    }
    if record.at("to") is not None:
        event["dst_endpoint"] = _endpoint(record, "to")
    unmapped: Object = {
        "log": record.log,
        "leaf": record.leaf.hex(),
        "side": {name: well_formed(text) for name, text in sorted(record.side.items())},
    }
    if record.fields is None:
        unmapped["damaged"] = True
    new: Object = {}
    if (agent := _ai_agent(record, "from")) is not None:
        new["ai_agent"] = agent
    if (delegation := _delegation(record)) is not None:
        new["delegation"] = delegation
    if version is Version.V1_9:
        event |= new
    else:
        unmapped |= new
    event["unmapped"] = {VENDOR: unmapped}
    return event


def _finding(record: Record, offset: Offset, version: Version, about: Link) -> Object:
    event = _base(record, offset, version, DETECTION_FINDING, 1)
    reason = record.text("reason") or "withheld"
    metadata = event["metadata"]
    if isinstance(metadata, dict):
        metadata["uid"] = f"{record.uid}/finding"
    info: Object = {
        "uid": f"{record.uid}/finding",
        "title": f"Message withheld: {reason}",
        "types": [reason],
        "related_events": [{"uid": about.uid, "type_uid": about.type_uid}],
    }
    if (engine := record.text("scan", "engine")) is not None:
        analytic: Object = {"type_id": 1, "type": "Rule", "name": engine}
        if (of := record.text("scan", "version")) is not None:
            analytic["version"] = of
        info["analytic"] = analytic
    evidence: Object = {
        "actor": _actor(record, version),
        "api": _api(record),
        "src_endpoint": _endpoint(record, "from"),
    }
    if version is Version.V1_9 and (agent := _ai_agent(record, "from")) is not None:
        evidence["ai_agent"] = agent
    event |= {
        "category_uid": 2,
        "category_name": "Findings",
        "class_name": "Detection Finding",
        "activity_name": "Create",
        "type_name": "Detection Finding: Create",
        "status_id": 1,
        "status": "New",
        "finding_info": info,
        "evidences": [evidence],
        "is_alert": True,
    }
    if (score := record.count("scan", "score")) is not None:
        event["confidence_score"] = score // _PER_CENT
    rules: JsonValue = record.at("scan", "rules")
    if rules is not None:
        event["unmapped"] = {VENDOR: {"rules": rules}}
    return event


def _base(record: Record, offset: Offset, version: Version, class_uid: int, activity: int) -> Object:
    """What events of both classes have."""
    when, meaning = record.ts_us or 0, _meaning(record)
    severity, severity_words = _severity(record)
    profiles: list[JsonValue] = ["datetime", "host", "security_control"]
    if version is Version.V1_9:
        # A finding is no operation of an agent: the schema lets only what it is about be one.
        profiles = [*(["ai_operation"] if class_uid == API_ACTIVITY else []), *profiles, "record_integrity"]
    metadata: Object = {
        "version": f"{version.value}.0",
        "product": {
            "name": VENDOR,
            "vendor_name": VENDOR,
            "version": record.text("sw") or "unknown",
        },
        "profiles": profiles,
        "uid": record.uid,
        "sequence": record.seq,
        "log_name": record.log,
        "original_time": utc_text(when),
        "logged_time": when // 1000,
        "event_code": f"{record.text('engine') or 'unknown'}.{record.text('decision') or 'damaged'}",
        "is_truncated": record.at("cut") is not None or record.flag("content", "truncated") is True,
    }
    if (conversation := record.text("conv")) is not None:
        metadata["correlation_uid"] = conversation
    event: Object = {
        "class_uid": class_uid,
        "activity_id": activity,
        "type_uid": class_uid * 100 + activity,
        "time": when // 1000,
        "time_dt": utc_text(when),
        "timezone_offset": offset(when) // 60,
        "severity_id": severity,
        "severity": severity_words,
        "message": " ".join(filter(None, (record.text("engine"), record.text("kind"), record.text("decision"))))
        or "a row that is damaged",
        "metadata": metadata,
        "device": {"uid": _node(record), "type_id": 0, "type": "Unknown"},
        "action_id": meaning.action,
        "action": meaning.action_words,
        "disposition_id": meaning.disposition,
        "disposition": meaning.disposition_words,
    }
    if (reason := record.text("reason")) is not None:
        event["status_code"] = reason
    return event


def _meaning(record: Record) -> _Meaning:
    if record.fields is None:
        return _ERROR
    return _DECISIONS.get(record.text("decision") or "", _LOGGED)


def _severity(record: Record) -> tuple[int, str]:
    if record.fields is None:
        return 5, "Critical"
    if record.text("decision") == "withheld":
        return 4, "High"
    return (3, "Medium") if record.alarming else (1, "Informational")


def _api(record: Record) -> Object:
    named = (record.text("engine"), record.text("kind") or record.text("row"))
    api: Object = {
        "operation": "/".join(filter(None, named)) or "unknown",
        "service": {"name": VENDOR},
    }
    if (message := record.text("msg")) is not None:
        api["request"] = {"uid": message}
    return api


def _actor(record: Record, version: Version) -> Object:
    """Who did it: a session of an agent, a person, or the node itself."""
    role, session = record.text("from", "role"), record.text("from", "session")
    if session is None and role == "person":
        return {"user": {"name": "person", "type_id": 1, "type": "User"}}
    name = record.text("from", "agent") or ("agent" if session is not None else role or VENDOR)
    actor: Object = {"app_name": name} if version is Version.V1_8 else {"application": {"name": name}}
    if session is not None:
        actor["session"] = {"uid": session}
    return actor


def _endpoint(record: Record, end: str) -> Object:
    endpoint: Object = {"uid": record.text(end, "node") or _node(record)}
    if (session := record.text(end, "session")) is not None:
        endpoint["instance_uid"] = session
    if (workspace := record.text(end, "workspace")) is not None:
        endpoint["name"] = workspace
    return endpoint


def _node(record: Record) -> str:
    """The node whose log it is: the middle of `local/<node id>/<epoch>`."""
    parts = record.log.split("/")
    return parts[1] if len(parts) > 1 else record.log


def _ai_agent(record: Record, end: str) -> Object | None:
    session, agent = record.text(end, "session"), record.text(end, "agent")
    if session is None or agent is None:
        return None
    node = record.text(end, "node") or _node(record)
    return {"uid": f"{node}/{agent}", "instance_uid": session, "name": agent, "type_id": 0, "type": "Unknown"}


def _delegation(record: Record) -> Object | None:
    conversation = record.text("conv")
    if conversation is None or record.text("engine") != "agent.delegation":
        return None
    delegation: Object = {"uid": conversation, "issuer_uid": _node(record)}
    if (parent := record.text("parent")) is not None:
        delegation["parent_uid"] = parent
    return delegation


def _previous(record: Record, before: Link | None) -> Link | None:
    """The link to the row before this one; without its fingerprint when that row was not part of the export."""
    if record.seq == 0:
        return None
    if before is not None and before.seq == record.seq - 1:
        return before
    return Link(seq=record.seq - 1, uid=f"{record.log}#{record.seq - 1}", type_uid=0, fingerprint="")


def _sealed(event: Object, record: Record, version: Version, previous: Link | None) -> Link:
    """Adds the attestation, where the version has one, and gives the link to the event."""
    number, metadata = event["type_uid"], event["metadata"]
    link = Link(
        seq=record.seq,
        uid=str(metadata["uid"]) if isinstance(metadata, dict) else record.uid,
        type_uid=number if isinstance(number, int) else 0,
        fingerprint="",
    )
    if version is Version.V1_8:
        return link
    attestation: Object = {"authority_uid": _node(record), "chain_uid": record.log}
    if previous is not None:
        pointer: Object = {"uid": previous.uid}
        if previous.fingerprint:
            pointer |= {
                "type_uid": previous.type_uid,
                "fingerprint": _fingerprint(previous.fingerprint, version, *_JCS_FORM),
            }
        attestation["prev_event"] = pointer
    event["attestation"] = attestation
    digest = sha256(jcs(event)).hexdigest()
    attestation["fingerprint"] = _fingerprint(digest, version, *_JCS_FORM)
    return replace(link, fingerprint=digest)


def _fingerprint(value: str, version: Version, form: int, form_words: str) -> Object:
    fingerprint: Object = {"algorithm_id": _SHA256, "algorithm": "SHA-256", "value": value}
    if version is not Version.V1_8:
        fingerprint |= {"serialization_id": form, "serialization": form_words}
    return fingerprint
