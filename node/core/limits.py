"""Every limit on what an agent, a peer or a person can grow, in one place. All are configurable."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from node.core.errors import ErrorCode, MeshError

# What whoever reads the timeline remembers of it at a time: rows that others may belong to, and what an overview names.
TIMELINE_SPAN: Final = 4_096
OVERVIEW_PEERS: Final = 256
OVERVIEW_BLOCKS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Named limits; sizes in characters or bytes as the name says, times in seconds."""

    nesting: int = 3
    open_exchanges: int = 8
    open_exchanges_per_peer: int = 64
    delivered_exchanges: int = 64
    open_questions: int = 8
    messages_per_exchange: int = 500
    hops: int = 8
    text_chars: int = 100_000
    title_chars: int = 120
    note_chars: int = 4_000
    wait_default_s: int = 50
    wait_max_s: int = 600
    waits_per_session: int = 8
    waits_told: int = 256
    inbox_batch: int = 20
    calls_per_minute: int = 120
    refusal_rows_per_minute: int = 30
    approvals_pending: int = 16
    # Of the questions that are used up or withdrawn, so many are kept to be looked at.
    approvals_kept: int = 1_000
    approval_once_s: int = 600
    approval_again_s: int = 300
    approval_wait_s: int = 50
    line_bytes: int = 1_048_576
    connections: int = 256
    sessions: int = 200
    exchanges_listed: int = 10_000
    notice_again_s: int = 180
    notice_times: int = 3
    # A notice which was pasted or entered to no effect is tried again after this, once.
    notice_retry_s: int = 15
    agent_busy_quiet_s: int = 90
    agent_doubt_quiet_s: int = 10
    agent_dialog_quiet_s: int = 600
    # How long an agent that is told to leave may take, and still take what its model is not shown.
    agent_leaving_s: int = 8
    # How often agents may end with a message in hand and be started again for it.
    message_returns: int = 3
    turn_continuations: int = 4
    hooks_at_once: int = 128
    notice_held_s: int = 900
    report_quiet_s: int = 180
    tick_s: int = 4
    repeat_window_s: int = 900
    resume_proof_s: int = 10
    landing_s: int = 3_600
    files_per_message: int = 20
    message_bytes: int = 67_108_864
    folder_entries: int = 10_000
    folder_path_bytes: int = 512
    path_chars: int = 1_024
    spare_bytes: int = 67_108_864
    # Of a message's files, those that are text and no longer than this are screened before they land, up to so many.
    screened_file_bytes: int = 1_048_576
    screened_files: int = 64
    # Content that a peer sends: how many unfinished parts of it are kept, and how many messages' worth of bytes that
    # no message has claimed, for how long.
    parcels_per_peer: int = 4
    parcel_messages: int = 4
    parcel_keep_s: int = 86_400
    # After a crash no more than this is sent again.
    parcel_sync_bytes: int = 33_554_432
    transfers_listed: int = 256
    peers: int = 10_000
    peers_pinned: int = 1_000
    peers_turn_s: int = 60
    peer_addresses: int = 8
    former_keys: int = 8
    sightings: int = 256
    mesh_connections: int = 1_024
    mesh_message_bytes: int = 1_048_576
    mesh_call_s: int = 10
    mesh_calls_per_peer: int = 16
    mesh_handshake_s: int = 5
    mesh_idle_s: int = 20
    link_dial_s: int = 3
    link_beat_s: int = 5
    link_dead_s: int = 12
    link_retry_s: int = 30
    # One frame of a relay: how many messages, and about how many bytes of them.
    relay_batch: int = 256
    relay_bytes: int = 524_288
    # What waits for a server that is away is given up after this.
    relay_deadline_s: int = 86_400
    forwards_per_minute: int = 6_000
    directory_sessions: int = 256
    mirrors: int = 32
    mirror_rows_kept: int = 500
    panel_rows: int = 1_000
    watches_per_minute: int = 30
    watch_frames_per_s: int = 40
    watch_frame_bytes: int = 65_536
    pairing_window_s: int = 120
    pairing_runs_per_hour: int = 20
    pairing_burned_codes: int = 3
    pairing_closed_s: int = 900
    git_s: int = 60
    git_long_s: int = 900
    git_output_bytes: int = 33_554_432
    worktrees: int = 64
    log_bytes: int = 8_388_608
    # The timeline is signed after so many rows, and after that time when there are new ones.
    checkpoint_rows: int = 100
    checkpoint_s: int = 60

    def check_text(self, name: str, text: str, limit: int) -> None:
        """LIMIT when `text` is longer than `limit` characters."""
        if len(text) > limit:
            raise MeshError(
                ErrorCode.LIMIT,
                f"{name} has {len(text)} characters; the limit is {limit}. Shorten it, or put the long part into a "
                "file and name its path.",
                {"limit": limit, "given": len(text)},
            )

    def wait_seconds(self, asked: int | None) -> int:
        """How long a call may block: the default, or what was asked for up to the maximum; LIMIT above it."""
        if asked is None:
            return self.wait_default_s
        if asked < 0 or asked > self.wait_max_s:
            raise MeshError(
                ErrorCode.LIMIT,
                f"wait_seconds must be between 0 and {self.wait_max_s}; {asked} was given. Wait again when a wait "
                "runs out: nothing is lost between waits.",
                {"limit": self.wait_max_s},
            )
        return asked


def limits_from(settings: dict[str, int]) -> Limits:
    """Limits with `settings` over the defaults; INVALID_ARGUMENT names an unknown or non-positive one."""
    known = {f.name for f in fields(Limits)}
    for name, value in settings.items():
        if name not in known:
            raise MeshError(
                ErrorCode.INVALID_ARGUMENT,
                f"{name!r} in [limits] of config.toml is not a limit. The limits are: {', '.join(sorted(known))}.",
            )
        if value <= 0:
            raise MeshError(ErrorCode.INVALID_ARGUMENT, f"The limit {name} must be above 0; {value} was given.")
    return Limits(**settings)
