"""A twin of the node's local API on a real socket: it holds what a test puts into it, and notes what was asked."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

from google.protobuf.message import Message as WireMessage

from node import codec
from node.core import timeline
from node.core.errors import ErrorCode, MeshError
from node.errmap import MEANINGS, TRAILER, encode
from node.grpc_setup import grpc, unix_target
from node.platform import paths
from node.version import VERSION
from node.wire.v1 import local_pb2 as pb
from node.wire.v1.local_pb2_grpc import add_LocalServiceServicer_to_server
from tests.unit.cli.twin_export import ExportTwin
from tests.unit.cli.twin_parts import NOW_US, MirrorTwin, changed, hold
from tests.unit.cli.twin_timeline import TimelineTwin

M = TypeVar("M", bound=WireMessage)

TOKEN = "of-the-twin"
YEAR_US = 365 * 86_400 * 1_000_000
REQUEST_ID = "rqqqqqqqqqqqqqqq"
MESSAGE_ID = "mmmmmmmmmmmmmmmm"
ASK_ID = "askaskaskaskaska"
RUN_ID = "rrrrrrrrrrrrrrr2"
# Of a script of a pairing run: it goes on when the person has answered.
ANSWERED = "answered"


def session(name: str = "payments", *, session_id: str = "sssssssssssssss2", **changes: object) -> pb.Session:
    made = pb.Session(
        id=session_id, nickname=name, title="Payment service", workspace="default", profile="generic", argv=["claude"],
        cwd="/srv/payments", status="running", state="idle", created_us=NOW_US, changed_us=NOW_US,
    )  # fmt: skip
    return changed(made, changes)


def exchange(**changes: object) -> pb.Exchange:
    made = pb.Exchange(
        id=REQUEST_ID, kind="request", status="working", status_words="Working", title="Which port",
        opener="the person", worker="@payments", worker_session="sssssssssssssss2", chain="cccccccccccccccc",
        hops=["the person", "@payments"], opened_us=NOW_US, changed_us=NOW_US, messages=1, last_word="Which port?",
        rung="landed",
    )  # fmt: skip
    return changed(made, changes)


def message(**changes: object) -> pb.Message:
    made = pb.Message(
        id=MESSAGE_ID, exchange=REQUEST_ID, number=1, kind="request", sender_end="opener", author="person",
        sender="the person", title="Which port", text="Which port is it?",
        ladder=pb.Ladder(rung="landed", recorded_us=NOW_US, screened="relay", landed_us=NOW_US + 10_000),
    )  # fmt: skip
    return changed(made, changes)


def from_worker(kind: str, text: str, **changes: object) -> pb.Message:
    given = {"id": ASK_ID, "number": 2, "sender_end": "worker", "author": "session", "sender": "@payments"} | changes
    return message(kind=kind, text=text, **given)


def approval(**changes: object) -> pb.Approval:
    made = pb.Approval(
        id="aaaaaaaaaaaaaaa2", kind="outside_file", session="sssssssssssssss2", asker="@payments", subject="/etc/hosts",
        words="Attaching /etc/hosts, which is outside the folder of @payments,", decision="pending", asked_us=NOW_US,
    )  # fmt: skip
    return changed(made, changes)


def workspace(name: str = "sandbox", **changes: object) -> pb.Workspace:
    made = pb.Workspace(
        name=name, driver="bubblewrap", settings={"network": "off"}, reach=pb.Reach(every=True), state="on"
    )
    return changed(made, changes)


def agent(name: str = "claude", **changes: object) -> pb.Agent:
    made = pb.Agent(name=name, program=name, path=f"/usr/bin/{name}", version="2.1.332", works=True)
    return changed(made, changes)


def peer(name: str = "studio", **changes: object) -> pb.MeshPeer:
    made = pb.MeshPeer(
        id="qqvv2x5" + "a" * 45, shown="QQVV2X5-" + "AAAAAAA-" * 6 + "AAAAAAA", name=name,
        addresses=["192.0.2.7:4354"], given=["request"], got=["request", "mirror-panel"], paired_us=NOW_US,
        seen_us=NOW_US, link="up", link_since_us=NOW_US, link_address="192.0.2.7:4354", rtt_us=2_100, tls="TLSv1.3",
        group="X25519MLKEM768",
    )  # fmt: skip
    return changed(made, changes)


def pairing(step: str, **changes: object) -> pb.RunPairingResponse:
    return changed(pb.RunPairingResponse(step=step, run=RUN_ID), changes)


@dataclass(slots=True, kw_only=True)
class Rows:
    """A timeline as a node writes it."""

    head: timeline.Head = field(default_factory=lambda: timeline.Head.empty("local/twin/1"))
    stored: list[pb.ReadTimelineResponse] = field(default_factory=list)

    def add(self, decision: str, *, side: dict[str, str] | None = None, **fields: object) -> None:
        given = {"row": timeline.RowKind.MESSAGE, "engine": "agent.request", **fields}
        row = timeline.Row(decision=decision, sw="heliograph/0", **given)
        clock = timeline.Clock(ts_us=NOW_US + len(self.stored), mono_us=len(self.stored), boot="boot")
        self.head, entry = timeline.append(self.head, clock, row)
        wire = pb.ReadTimelineResponse(seq=entry.seq, data=entry.data, leaf=entry.leaf, side=side or {})
        self.stored.append(wire)


class TwinNode(MirrorTwin, ExportTwin, TimelineTwin):
    """Answers with what it holds; `refusal` is raised by the next call instead."""

    def __init__(self, home: Path) -> None:
        super().__init__()
        self.home = home
        self.sessions: list[pb.Session] = []
        self.exchanges: list[pb.Exchange] = []
        self.conversation = pb.GetExchangeResponse()
        self.receipt = pb.SendRequestResponse(exchange=exchange(), message=message())
        self.arrivals: deque[pb.WaitExchangeResponse] = deque()
        self.look_alikes: list[str] = []
        self.approvals: list[pb.Approval] = []
        self.workspaces: list[pb.Workspace] = [workspace("default", driver="host", settings={})]
        self.agents: list[pb.Agent] = []
        self.identity = pb.Identity(
            id="m" * 52,
            shown="MMMMMMM-MMMMMMM",
            spki="ab" * 32,
            expires_us=NOW_US + 10 * YEAR_US,
            former_keys=0,
            in_keychain=True,
        )
        self.mesh = pb.GetMeshResponse(port=4_354, discovery=True, interfaces=["eth0"])
        self.transfers: list[pb.Transfer] = []
        # What the next looks find, one after the other.
        self.later_transfers: list[list[pb.Transfer]] = []
        self.script: list[pb.RunPairingResponse | str] = []
        self.too_late = False
        self.answers: SimpleQueue[pb.AnswerPairingRequest] = SimpleQueue()
        self.timeline = Rows()
        self.verification: list[pb.VerifyTimelineResponse] = []
        self.version = VERSION
        self.timeline_writable = True
        self.alarms: list[str] = []
        self.refusal: MeshError | None = None
        self.asked: list[WireMessage] = []

    def serve(self) -> Iterator[TwinNode]:
        """Serves at the home until the generator is closed."""
        folder = paths.run_dir(self.home)
        (folder / paths.LOCAL_TOKEN).write_text(TOKEN, encoding="ascii")
        (folder / paths.LOCAL_TOKEN).chmod(0o600)
        server = grpc.server(ThreadPoolExecutor(max_workers=8))
        add_LocalServiceServicer_to_server(self, server)
        server.add_insecure_port(unix_target(folder / paths.LOCAL_SOCKET))
        server.start()
        try:
            yield self
        finally:
            server.stop(grace=None).wait()

    def last(self, kind: type[M]) -> M:
        """The newest call of that kind."""
        return next(call for call in reversed(self.asked) if isinstance(call, kind))

    def _take(self, request: WireMessage, context: grpc.ServicerContext) -> None:
        assert dict(context.invocation_metadata())[codec.TOKEN_METADATA] == TOKEN
        self.asked.append(request)
        if (refusal := self.refusal) is not None:
            context.set_trailing_metadata(((TRAILER, encode(refusal)),))
            context.abort(MEANINGS[refusal.code].grpc, refusal.message)

    def _found(self, wanted: str, context: grpc.ServicerContext) -> pb.Session:
        for known in self.sessions:
            if wanted.removeprefix("@") == known.nickname or known.id.startswith(wanted):
                return known
        self.refusal = MeshError(ErrorCode.NOT_FOUND, f"No session is called {wanted}.")
        self._take(pb.StatusRequest(), context)
        raise AssertionError("abort raises")

    def Status(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.StatusResponse(
            node_id="twin", version=self.version, pid=os.getpid(), started_us=NOW_US, home=str(self.home),
            sessions_running=len(self.sessions), exchanges_open=len(self.exchanges), timeline_rows=3,
            timeline_writable=self.timeline_writable, screen_engine="rules", screen_version="1", tmux_version="3.3a",
            timeline_alarms=self.alarms,
        )  # fmt: skip

    def RunSession(self, request, context):  # noqa: N802
        self._take(request, context)
        made = session(request.nickname, argv=request.argv)
        return pb.RunSessionResponse(session=made, look_alikes=self.look_alikes)

    def ListSessions(self, request, context):  # noqa: N802
        self._take(request, context)
        shown = [known for known in self.sessions if request.archived or known.status != "archived"]
        return pb.ListSessionsResponse(sessions=shown)

    def AttachSession(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.AttachSessionResponse(argv=["tmux", "attach-session", "-t", self._found(request.session, context).id])

    def SetNickname(self, request, context):  # noqa: N802
        self._take(request, context)
        found = self._found(request.session, context)
        found.nickname = request.nickname
        return pb.SetNicknameResponse(session=found, look_alikes=self.look_alikes)

    def RenameSession(self, request, context):  # noqa: N802
        self._take(request, context)
        found = self._found(request.session, context)
        found.title = request.title
        return pb.RenameSessionResponse(session=found)

    def ArchiveSession(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.ArchiveSessionResponse(session=self._found(request.session, context))

    def UnarchiveSession(self, request, context):  # noqa: N802
        self._take(request, context)
        found = self._found(request.session, context)
        return pb.UnarchiveSessionResponse(session=found, nickname_lost="payments")

    def RemoveSession(self, request, context):  # noqa: N802
        self._take(request, context)
        found = self._found(request.session, context)
        return pb.RemoveSessionResponse(id=found.id, failed_exchanges=[REQUEST_ID])

    def ListExchanges(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.ListExchangesResponse(exchanges=self.exchanges)

    def GetExchange(self, request, context):  # noqa: N802
        self._take(request, context)
        return self.conversation

    def SendRequest(self, request, context):  # noqa: N802
        self._take(request, context)
        return self.receipt

    def AnswerQuestion(self, request, context):  # noqa: N802
        return self._receipt(request, context, pb.AnswerQuestionResponse)

    def SteerExchange(self, request, context):  # noqa: N802
        return self._receipt(request, context, pb.SteerExchangeResponse)

    def CloseExchange(self, request, context):  # noqa: N802
        return self._receipt(request, context, pb.CloseExchangeResponse)

    def CancelExchange(self, request, context):  # noqa: N802
        return self._receipt(request, context, pb.CancelExchangeResponse)

    def _receipt(self, request: WireMessage, context: grpc.ServicerContext, made: Callable[..., M]) -> M:
        self._take(request, context)
        return made(exchange=self.receipt.exchange, message=self.receipt.message, repeated=self.receipt.repeated)

    def WaitExchange(self, request, context):  # noqa: N802
        self._take(request, context)
        if self.arrivals:
            return self.arrivals.popleft()
        hold(context, request.seconds)
        return pb.WaitExchangeResponse(exchange=self.receipt.exchange, timed_out=True)

    def ReadTimeline(self, request, context):  # noqa: N802
        self._take(request, context)
        if request.batches:
            for at in range(0, len(self.timeline.stored), 7):
                yield pb.ReadTimelineResponse(rows=self.timeline.stored[at : at + 7])
            return
        yield from self.timeline.stored
        if request.follow and not self.stops:
            hold(context, None)

    def VerifyTimeline(self, request, context):  # noqa: N802
        self._take(request, context)
        yield from self.verification

    def ListApprovals(self, request, context):  # noqa: N802
        self._take(request, context)
        shown = [known for known in self.approvals if not request.pending or known.decision == "pending"]
        return pb.ListApprovalsResponse(approvals=shown)

    def DecideApproval(self, request, context):  # noqa: N802
        self._take(request, context)
        found = next(known for known in self.approvals if known.id.startswith(request.approval))
        return pb.DecideApprovalResponse(approval=changed(found, {"decision": request.decision}))

    def ListWorkspaces(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.ListWorkspacesResponse(workspaces=self.workspaces)

    def AddWorkspace(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.AddWorkspaceResponse(workspace=workspace(request.name, settings=request.settings))

    def SetWorkspace(self, request, context):  # noqa: N802
        self._take(request, context)
        changed = workspace(request.name, settings=request.settings, screen=request.screen)
        return pb.SetWorkspaceResponse(workspace=changed)

    def SetReach(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.SetReachResponse(workspace=workspace(request.name, reach=request.reach))

    def RemoveWorkspace(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.RemoveWorkspaceResponse(name=request.name)

    def ListAgents(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.ListAgentsResponse(agents=self.agents)

    def GetIdentity(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.GetIdentityResponse(identity=self.identity)

    def RotateIdentity(self, request, context):  # noqa: N802
        self._take(request, context)
        new = changed(self.identity, {"shown": "WWWWWWW-WWWWWWW", "former_keys": self.identity.former_keys + 1})
        return pb.RotateIdentityResponse(identity=new)

    def ListTransfers(self, request, context):  # noqa: N802
        self._take(request, context)
        if self.later_transfers:
            self.transfers = self.later_transfers.pop(0)
        return pb.ListTransfersResponse(transfers=self.transfers)

    def GetMesh(self, request, context):  # noqa: N802
        self._take(request, context)
        return self.mesh

    def RenamePeer(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.RenamePeerResponse(peer=peer(request.name))

    def SetGrants(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.SetGrantsResponse(peer=peer(request.peer, given=request.give))

    def AddPeerAddress(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.AddPeerAddressResponse(peer=peer(request.peer, addresses=[request.address, "192.0.2.7:4354"]))

    def Unpair(self, request, context):  # noqa: N802
        self._take(request, context)
        return pb.UnpairResponse(id="qqvv2x5", name=request.peer)

    def RunPairing(self, request, context):  # noqa: N802
        self._take(request, context)
        for step in self.script:
            if step == ANSWERED:
                self.answers.get(timeout=20)
            else:
                yield step
        if not self.stops:
            hold(context, None)

    def AnswerPairing(self, request, context):  # noqa: N802
        self._take(request, context)
        self.answers.put(request)
        if self.too_late:
            self.refusal = MeshError(ErrorCode.NOT_FOUND, "That pairing run is over.")
            self._take(request, context)
        return pb.AnswerPairingResponse()
