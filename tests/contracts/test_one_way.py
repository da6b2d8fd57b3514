"""One way means one way: every call is opened by the client, and what the server sends holds nothing to carry out."""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from tunnel.wire.v1 import files_pb2, mirror_pb2

# Everything that can come from a server, by message: acknowledgements, what is to be shown, and messages of the
# client's own exchanges. Whoever adds a field here says in the ADR what the client does with it.
FROM_SERVER = {
    "RelayResponse": {"welcome", "results", "items", "directory", "beat_us"},
    "Welcome": {"protocol"},
    "ForwardResult": {"number", "message", "outcome", "code", "words", "status"},
    "Item": {"number", "message", "progress"},
    "Incoming": {"message", "exchange", "kind", "author", "title", "text", "reply_to", "status", "files"},
    "Progress": {
        "message", "exchange", "landed_us", "notices", "held", "confirmed_us", "read_us", "answered_us", "gave_up_us",
        "status",
    },
    "FileRef": {"name", "sha256", "size", "folder", "entries"},
    "Directory": {"entries"},
    "DirectoryEntry": {"session", "nickname", "title", "status", "profile", "askable"},
    "WatchResponse": {"snapshot", "delta", "timeline", "beat"},
    "OfferResponse": {"offset", "complete"},
    "PushResponse": {"size"},
    "PullResponse": set(),
}  # fmt: skip
# Below WatchResponse there are texts, times and numbers to show, and rows of the timeline as they are stored.
SHOWN = {"PanelSnapshot", "PanelDelta", "PanelRow", "TimelineBatch", "RowText", "WatchBeat"}
EXECUTABLE = {"command", "argv", "cwd", "env", "path", "url", "script", "method", "hook", "config", "grant", "approval"}


def reachable(*tops: Descriptor) -> dict[str, Descriptor]:
    """All messages that one of these can hold."""
    found: dict[str, Descriptor] = {}
    left = list(tops)
    while left:
        message = left.pop()
        if message.name not in found:
            found[message.name] = message
            left += [field.message_type for field in message.fields if field.message_type is not None]
    return found


def from_server() -> dict[str, Descriptor]:
    services = [
        mirror_pb2.DESCRIPTOR.services_by_name["MirrorService"], files_pb2.DESCRIPTOR.services_by_name["FileService"],
    ]  # fmt: skip
    return reachable(*(method.output_type for service in services for method in service.methods))


def test_the_server_sends_what_is_listed_and_nothing_else() -> None:
    found = from_server()
    assert found.keys() == FROM_SERVER.keys() | SHOWN
    for name, fields in FROM_SERVER.items():
        assert {field.name for field in found[name].fields} == fields, name


def test_nothing_of_it_could_be_carried_out() -> None:
    for message in from_server().values():
        for field in message.fields:
            assert field.name not in EXECUTABLE, f"{message.name}.{field.name}"
            assert field.type != FieldDescriptor.TYPE_GROUP
            if field.type == FieldDescriptor.TYPE_BYTES:
                assert (message.name, field.name) == ("TimelineBatch", "rows")


def test_no_call_of_the_tunnel_is_a_servers() -> None:
    """The messages of a watch are one request: there is nothing a watcher could send afterwards, so no way to write."""
    watch = mirror_pb2.DESCRIPTOR.services_by_name["MirrorService"].methods_by_name["Watch"]
    assert (watch.client_streaming, watch.server_streaming) == (False, True)
    assert {field.name for field in watch.input_type.fields} == {
        "protocol", "panel", "timeline", "revision", "run", "origin", "seq", "tail",
    }  # fmt: skip
