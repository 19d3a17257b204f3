"""A tiny GGUF model that says given texts, whatever it is asked: its position embeddings alone choose the next token.

Every byte is a token, and so is each mark in `special`. An answer begins where its prompt has a given number of tokens. With `padded`, a
template of our own, that is known beforehand: it fills the prompt of the n-th answer with blanks up to n times kStride tokens."""
import re
import struct

kStride = 1024

# `m`: a message, `c`: a call. Prompts are ASCII; a special token in them counts as one.
PADDED = """{%- set body -%}
{%- for tool in tools or [] %}{{ tool.function.name }} {{ tool.function.parameters | tojson }}
{% endfor -%}
{%- for m in messages %}<{{ m.role }}> {% if m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>
{% endif %}{{ m.content }}
{%- for c in m.tool_calls or [] %}@BEFORE@@CALL@{% endfor %}
{% endfor -%}
{%- endset -%}
{{ body }}{% if add_generation_prompt %}
{%- set turn = messages | selectattr('role', 'equalto', 'assistant') | list | length + 1 -%}
{{ ' ' * (turn * @STRIDE@ - body@MARKS@ | length - 13) }}
<assistant> {% endif %}"""

HERMES = '<tool_call>\n{"name": {{ c.function.name | tojson }}, "arguments": {{ c.function.arguments | tojson }}}\n</tool_call>'
QWEN_XML = ("<tool_call>\n<function={{ c.function.name }}>\n{% for k, v in c.function.arguments.items() %}<parameter={{ k }}>\n"
            "{{ v if v is string else v | tojson }}\n</parameter>\n{% endfor %}</function>\n</tool_call>")


def padded(call=HERMES, special=(), stride=kStride, before="{{ '\n' }}"):
    """`call`: how a call `c` is written, after `before`."""
    marks = "".join(f" | replace('{mark}', '.')" for mark in special)
    return PADDED.replace("@CALL@", call).replace("@BEFORE@", before).replace("@MARKS@", marks).replace("@STRIDE@", str(stride))


def letters_of_bytes():
    """GPT-2's alphabet: a printable character for each byte."""
    own = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = iter(range(256, 512))
    return [chr(byte if byte in own else next(others)) for byte in range(256)]


LETTERS = letters_of_bytes()
EOS = "<|end|>"


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, value):
    """A key of the header with its value, a text, an unsigned number, a truth, or a list of texts or numbers."""
    if isinstance(value, bool):
        return text(key) + struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return text(key) + struct.pack("<II", 4, value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", 6, value)
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    numbers = isinstance(value[0], int)
    items = b"".join(struct.pack("<i", item) if numbers else text(item) for item in value)
    return text(key) + struct.pack("<IIQ", 9, 5 if numbers else 8, len(value)) + items


def write(path, template, answers, special=(), context=None, bos=None, spells=False):
    """`answers`: the number of tokens of a prompt, and what is said after it: a text or bytes, a mark of `special` as its token, or, if the
    model `spells`, as its letters."""
    tokens = [*LETTERS, LETTERS[1] + LETTERS[2]]
    kinds = [1] * len(tokens)
    marks = list(dict.fromkeys([*special, EOS, *([bos] if bos else [])]))
    number = {mark: len(tokens) + i for i, mark in enumerate(marks)}
    tokens += marks
    kinds += [3] * len(marks)
    pattern = b"|".join(re.escape(mark.encode()) for mark in sorted(marks, key=len, reverse=True))

    next_token = {}  # by position
    for start, answer in answers.items():
        data = answer if isinstance(answer, bytes) else answer.encode()
        said = []
        for piece in re.split(b"(" + pattern + b")", data):
            said += [number[piece.decode()]] if piece.decode(errors="replace") in number and not spells else list(piece)
        for i, token in enumerate(said):
            assert start - 1 + i not in next_token, "answers overlap"
            next_token[start - 1 + i] = token
    context = context or max(next_token, default=0) + 512
    assert max(next_token, default=0) < context, (max(next_token), context)
    said = sorted(set(next_token.values()) - {number[EOS]})
    place = {token: i for i, token in enumerate(said)}
    place[number[EOS]] = len(said)  # wherever nothing is to be said
    width = (len(said) + 2 + 63) // 64 * 64

    def hot(rows, ones):
        data = bytearray(4 * rows * width)
        for row, column in ones:
            struct.pack_into("<f", data, 4 * (row * width + column), 1.0)
        return bytes(data)

    floats = lambda values: struct.pack(f"<{len(values)}f", *values)
    zeros = lambda *shape: bytes(4 * (shape[0] * (shape[1] if len(shape) > 1 else 1)))
    tensors = [("token_embd.weight", (width, len(tokens)), zeros(width, len(tokens))),
               ("position_embd.weight", (width, context), hot(context, [(p, place[next_token.get(p, number[EOS])]) for p in range(context)])),
               ("output.weight", (width, len(tokens)), hot(len(tokens), place.items())),
               # a normalized one-hot row is as long as the root of its width
               ("output_norm.weight", (width,), floats([40.0 / width**0.5] * width)), ("output_norm.bias", (width,), zeros(width))]
    for name, *shape in (("attn_norm.weight", width), ("attn_norm.bias", width), ("attn_qkv.weight", width, 3 * width), ("attn_qkv.bias", 3 * width),
                         ("attn_output.weight", width, width), ("attn_output.bias", width), ("ffn_norm.weight", width), ("ffn_norm.bias", width),
                         ("ffn_up.weight", width, 64), ("ffn_up.bias", 64), ("ffn_down.weight", 64, width), ("ffn_down.bias", width)):
        tensors.append((f"blk.0.{name}", tuple(shape), zeros(*shape)))
    header = {"general.architecture": "gpt2", "general.name": "scripted", "gpt2.context_length": context, "gpt2.embedding_length": width,
              "gpt2.block_count": 1, "gpt2.feed_forward_length": 64, "gpt2.attention.head_count": width // 64,
              "gpt2.attention.layer_norm_epsilon": 1e-5, "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2",
              "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": kinds, "tokenizer.ggml.merges": [f"{LETTERS[1]} {LETTERS[2]}"],
              "tokenizer.ggml.eos_token_id": number[EOS], "tokenizer.ggml.add_bos_token": False, "tokenizer.chat_template": template}
    if bos:
        header["tokenizer.ggml.bos_token_id"] = number[bos]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(header)) + b"".join(entry(*item) for item in header.items())
    offset = 0
    for name, shape, data in tensors:
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, offset)
        offset += (len(data) + 31) // 32 * 32
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32))
        for _, _, data in tensors:
            file.write(data + bytes(-len(data) % 32))
