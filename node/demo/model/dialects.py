"""The four dialects in which agent CLIs talk with a model: how a request is read, and an answer written.

Anthropic Messages (Claude Code), OpenAI Chat Completions (Qwen Code, opencode), OpenAI Responses (Codex), and Gemini's
generateContent. Each writer gives the events of a streamed answer as (name or "", data), or one plain body.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from node.demo.model.script import Answer, Call, Request, Tool, new_id

Json = dict[str, object]
Event = tuple[str, object]
_TOKENS = {"input_tokens": 100, "output_tokens": 10}
_TIME = 1_700_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one vendor's clients talk: `read` gives tools, system text and what was said."""

    name: str
    read: Callable[[Json], tuple[tuple[Tool, ...], str, tuple[tuple[str, str], ...]]]
    plain: Callable[[Request, Answer], Json]
    stream: Callable[[Request, Answer], Iterator[Event]]


def _objects(value: object) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(content: object) -> str:
    """All text within a message's content, however deep."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for part in content if (text := _text(part)))
    if isinstance(content, dict):
        if isinstance(answered := content.get("functionResponse"), dict):
            return json.dumps(answered.get("response"))
        return next((_text(content[key]) for key in ("text", "content", "output", "parts") if key in content), "")
    return ""


def _pieces(text: str) -> Iterator[str]:
    yield from re.findall(r"\S+\s*|\s+", text)


# --- Anthropic Messages -----------------------------------------------------------------------------------------------


def _read_messages(body: Json) -> tuple[tuple[Tool, ...], str, tuple[tuple[str, str], ...]]:
    tools = tuple(Tool(name=str(tool["name"])) for tool in _objects(body.get("tools")) if "name" in tool)
    said = tuple((str(m.get("role")), _text(m.get("content"))) for m in _objects(body.get("messages")))
    return tools, _text(body.get("system")), said


def _messages_blocks(answer: Answer) -> list[Json]:
    blocks: list[Json] = [{"type": "text", "text": answer.text}] if answer.text or answer.call is None else []
    if answer.call is not None:
        call = answer.call
        blocks.append({"type": "tool_use", "id": call.id, "name": call.tool.name, "input": dict(call.arguments)})
    return blocks


def _messages_body(request: Request, answer: Answer) -> Json:
    return {
        "id": new_id("msg"), "type": "message", "role": "assistant", "model": request.model,
        "content": _messages_blocks(answer), "stop_reason": "end_turn" if answer.call is None else "tool_use",
        "stop_sequence": None, "usage": _TOKENS,
    }  # fmt: skip


def _messages_stream(request: Request, answer: Answer) -> Iterator[Event]:
    body = _messages_body(request, answer)
    yield "message_start", {"type": "message_start", "message": {**body, "content": [], "stop_reason": None}}
    for index, block in enumerate(_messages_blocks(answer)):
        if block["type"] == "text":
            opening: Json = {**block, "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(answer.text)]
        else:
            opening = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": opening}
        for delta in deltas:
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 10}}
    yield "message_stop", {"type": "message_stop"}


# --- OpenAI Chat Completions ------------------------------------------------------------------------------------------

_CHAT_TOKENS = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def _read_chat(body: Json) -> tuple[tuple[Tool, ...], str, tuple[tuple[str, str], ...]]:
    functions = [tool.get("function") for tool in _objects(body.get("tools"))]
    tools = tuple(Tool(name=str(function["name"])) for function in functions if isinstance(function, dict))
    said = tuple((str(m.get("role")), _text(m.get("content"))) for m in _objects(body.get("messages")))
    return tools, "\n".join(text for role, text in said if role == "system"), said


def _chat_calls(answer: Answer) -> list[Json]:
    if answer.call is None:
        return []
    function = {"name": answer.call.tool.name, "arguments": json.dumps(dict(answer.call.arguments))}
    return [{"index": 0, "id": answer.call.id, "type": "function", "function": function}]


def _chat_body(request: Request, answer: Answer) -> Json:
    message: Json = {"role": "assistant", "content": answer.text or None}
    if answer.call is not None:
        message["tool_calls"] = _chat_calls(answer)
    choice = {"index": 0, "message": message, "finish_reason": _chat_reason(answer)}
    return {"id": new_id("chatcmpl"), "object": "chat.completion", "created": _TIME, "model": request.model,
            "usage": _CHAT_TOKENS, "choices": [choice]}  # fmt: skip


def _chat_reason(answer: Answer) -> str:
    return "stop" if answer.call is None else "tool_calls"


def _chat_stream(request: Request, answer: Answer) -> Iterator[Event]:
    head = {"id": new_id("chatcmpl"), "object": "chat.completion.chunk", "created": _TIME, "model": request.model}

    def chunk(delta: Json, reason: str | None = None) -> Event:
        return "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(answer.text):
        yield chunk({"content": piece})
    if answer.call is not None:
        yield chunk({"tool_calls": _chat_calls(answer)})
    yield chunk({}, _chat_reason(answer))
    yield "", {**head, "choices": [], "usage": _CHAT_TOKENS}
    yield "", "[DONE]"


# --- OpenAI Responses -------------------------------------------------------------------------------------------------


def _read_responses(body: Json) -> tuple[tuple[Tool, ...], str, tuple[tuple[str, str], ...]]:
    tools: list[Tool] = []
    for tool in _objects(body.get("tools")):
        if tool.get("type") == "namespace":
            inner = _objects(tool.get("tools"))
            tools += [Tool(name=str(one["name"]), group=str(tool["name"])) for one in inner]
        elif "name" in tool:
            tools.append(Tool(name=str(tool["name"])))
    said: list[tuple[str, str]] = []
    for item in _objects(body.get("input")):
        kind = str(item.get("type", "message"))
        if kind.endswith("call_output"):
            said.append(("tool", _text(item.get("output"))))
        elif kind == "message":
            said.append((str(item.get("role", "user")), _text(item.get("content"))))
        else:
            said.append(("assistant", ""))
    return tuple(tools), _text(body.get("instructions")), tuple(said)


def _responses_items(answer: Answer) -> list[Json]:
    items: list[Json] = []
    if answer.text or answer.call is None:
        part = {"type": "output_text", "text": answer.text, "annotations": []}
        items.append({"type": "message", "id": new_id("msg"), "role": "assistant", "status": "completed",
                      "content": [part]})  # fmt: skip
    if answer.call is not None:
        items.append(_function_call(answer.call))
    return items


def _function_call(call: Call) -> Json:
    item: Json = {"type": "function_call", "id": new_id("fc"), "call_id": call.id, "status": "completed",
                  "name": call.tool.name, "arguments": json.dumps(dict(call.arguments))}  # fmt: skip
    return {**item, "namespace": call.tool.group} if call.tool.group else item


def _responses_body(request: Request, answer: Answer) -> Json:
    return {"id": new_id("resp"), "object": "response", "created_at": _TIME, "status": "completed",
            "model": request.model, "output": _responses_items(answer), "error": None, "parallel_tool_calls": True,
            "tools": [], "usage": {**_TOKENS, "total_tokens": 110}}  # fmt: skip


def _responses_stream(request: Request, answer: Answer) -> Iterator[Event]:
    body, numbers = _responses_body(request, answer), itertools.count()

    def event(kind: str, **data: object) -> Event:
        return kind, {"type": kind, "sequence_number": next(numbers), **data}

    yield event("response.created", response={**body, "status": "in_progress", "output": [], "usage": None})
    for index, item in enumerate(_objects(body["output"])):
        place = {"item_id": item["id"], "output_index": index}
        if item["type"] == "message":
            opening = {**item, "status": "in_progress", "content": []}
            part = {"type": "output_text", "text": "", "annotations": []}
            yield event("response.output_item.added", output_index=index, item=opening)
            yield event("response.content_part.added", **place, content_index=0, part=part)
            for piece in _pieces(answer.text):
                yield event("response.output_text.delta", **place, content_index=0, delta=piece)
            yield event("response.output_text.done", **place, content_index=0, text=answer.text)
        else:
            opening = {**item, "status": "in_progress", "arguments": ""}
            yield event("response.output_item.added", output_index=index, item=opening)
            yield event("response.function_call_arguments.done", **place, arguments=item["arguments"])
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=body)


# --- Gemini -----------------------------------------------------------------------------------------------------------


def _read_gemini(body: Json) -> tuple[tuple[Tool, ...], str, tuple[tuple[str, str], ...]]:
    declared = [one for tool in _objects(body.get("tools")) for one in _objects(tool.get("functionDeclarations"))]
    said = tuple((str(c.get("role", "user")), _text(c.get("parts"))) for c in _objects(body.get("contents")))
    return tuple(Tool(name=str(one["name"])) for one in declared), _text(body.get("systemInstruction")), said


def _gemini_body(request: Request, answer: Answer) -> Json:
    parts: list[Json] = [{"text": answer.text}] if answer.text or answer.call is None else []
    if answer.call is not None:
        call = answer.call
        parts.append({"functionCall": {"id": call.id, "name": call.tool.name, "args": dict(call.arguments)}})
    content = {"role": "model", "parts": parts}
    tokens = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
    return {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}], "modelVersion": request.model,
            "responseId": new_id("resp"), "usageMetadata": tokens}  # fmt: skip


def _gemini_stream(request: Request, answer: Answer) -> Iterator[Event]:
    yield "", _gemini_body(request, answer)


DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect(name="messages", read=_read_messages, plain=_messages_body, stream=_messages_stream),
        Dialect(name="chat", read=_read_chat, plain=_chat_body, stream=_chat_stream),
        Dialect(name="responses", read=_read_responses, plain=_responses_body, stream=_responses_stream),
        Dialect(name="gemini", read=_read_gemini, plain=_gemini_body, stream=_gemini_stream),
    )
}
