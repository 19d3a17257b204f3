"""Language models: text, streams, conversations, forms of output, batches, asyncio, signals and errors."""
import asyncio
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import wick

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOVELIST = ROOT / "models/novelist-20m-q8_0.gguf"
SHARED = pathlib.Path(os.environ.get("WICK_SHARED", ROOT.parent / "shared")) / "data/models"


@pytest.fixture(scope="module")
def model():
    with wick.load(NOVELIST, device="cpu") as loaded:
        yield loaded


def test_greedy_text_is_the_reference_s():
    expected = SHARED / "stories260k.expected_greedy_200.txt"
    if not expected.is_file():
        pytest.skip("no shared test data")
    with wick.load(SHARED / "stories260k-f32.gguf", device="cpu", precise=True) as stories:
        result = stories.generate("Once upon a time", temperature=0, max_tokens=60)
        assert result.text and (("Once upon a time" + result.text) in expected.read_text() or result.text in expected.read_text())


def test_streams_give_the_same_text(model):
    whole = model.generate("My dear,", max_tokens=24, seed=5)
    stream = model.generate("My dear,", max_tokens=24, seed=5, stream=True)
    pieces = list(stream)
    assert "".join(pieces) == whole.text == stream.result.text
    assert stream.result.tokens == whole.tokens and len(whole.tokens) == 24
    assert whole.stop_reason == "MAX_TOKENS" and whole.usage.completion_tokens == 24 and whole.seed == 5
    assert model.detokenize(whole.tokens) == whole.text
    tokens = model.tokenize("My dear,")
    assert model.generate(tokens, max_tokens=24, seed=5).text == whole.text


def test_every_parameter_of_sampling_is_a_keyword(model):
    names = {row.split("`")[1] for row in (pathlib.Path(__file__).parents[2] / "docs/sampling.md").read_text().splitlines()
             if row.startswith("| `") and " `--" in row and row.count("|") == 8}
    assert {"temperature", "typical_p", "xtc_threshold", "dry_window", "mirostat_eta"} <= names == set(model.info["sampling"])
    for name, value in model.info["sampling"].items():
        model.generate("The sea", max_tokens=1, **{name: value})
        with pytest.raises(ValueError, match=name):
            model.generate("The sea", max_tokens=1, **{name: -3})
    hot = {"temperature": 3, "top_k": 0, "top_p": 1, "min_p": 0, "seed": 3, "max_tokens": 8}
    likely = model.generate("The sea", **{**hot, "top_k": 1}).text
    assert model.generate("The sea", samplers=["top_k", "temperature"], **{**hot, "top_k": 1}).text == likely
    assert model.generate("The sea", samplers="temperature", **{**hot, "top_k": 1}).text != likely
    with pytest.raises(ValueError, match="magic"):
        model.generate("The sea", samplers=["magic"])
    repeated = {"temperature": 0, "max_tokens": 40, "dry_multiplier": 5, "dry_allowed_length": 1}
    assert model.generate("The sea, the sea, the sea", dry_sequence_breakers=[], **repeated).tokens
    assert model.generate("The sea, the sea, the sea", dry_sequence_breakers=" ", **repeated).tokens


def test_sampling_is_the_model_s_where_parameters_say_nothing(model, tmp_path):
    assert model.info["sampling"]["temperature"] == pytest.approx(0.8) and model.info["sampling"]["top_k"] == 40
    tensors, metadata = wick.load_gguf(NOVELIST)
    wick.save_gguf(tensors, tmp_path / "greedy.gguf", {**metadata, "general.sampling.temp": 0.0})
    with wick.load(tmp_path / "greedy.gguf", device="cpu") as greedy:
        assert greedy.info["sampling"]["temperature"] == 0
        assert greedy.generate("The sea", max_tokens=8).tokens == model.generate("The sea", max_tokens=8, temperature=0).tokens


def test_a_list_is_a_batch_with_the_texts_of_each(model):
    prompts = ["The sea", "She said", "A house"]
    results = model.generate(prompts, max_tokens=8, temperature=0)
    assert [len(r.tokens) for r in results] == [8, 8, 8]
    assert len({r.text for r in results}) == 3


def test_streams_can_be_left(model):
    with model.generate("The sea", max_tokens=500, stream=True) as stream:
        next(stream)
    assert list(stream) == []
    for i, _ in enumerate(model.generate("The sea", max_tokens=500, stream=True)):
        if i == 2:
            break
    assert model.generate("The sea", max_tokens=1).tokens


def test_logprobs_are_the_model_s(model):
    result = model.generate("The sea", max_tokens=4, temperature=0, logprobs=3)
    assert len(result.logprobs) == 4
    for row, token in zip(result.logprobs, result.tokens):
        assert row.token == token and len(row.top) == 3
        assert row.top[0] == (row.token, row.logprob)
        assert [p for _, p in row.top] == sorted((p for _, p in row.top), reverse=True)


def test_stop_and_bias(model):
    free = model.generate("The sea", max_tokens=40, temperature=0)
    word = free.text.split()[3]
    stopped = model.generate("The sea", max_tokens=40, temperature=0, stop=word)
    assert stopped.stop_reason == "STOP_SEQUENCE" and stopped.stop_sequence == word and word not in stopped.text
    banned = model.generate("The sea", max_tokens=1, temperature=0, logit_bias={free.tokens[0]: -100})
    assert banned.tokens[0] != free.tokens[0]


def test_forms_of_output(model):
    assert model.generate("Colour: ", choices=["red", "green"], max_tokens=20).text in ("red", "green")
    assert len(model.generate("Year: ", regex="[0-9]{4}", max_tokens=20).text) == 4
    schema = {"type": "object", "properties": {"age": {"type": "integer", "maximum": 99, "minimum": 10}}, "required": ["age"],
              "additionalProperties": False}
    result = model.generate("JSON: ", response_format=schema, max_tokens=60, temperature=0)
    assert result.parsed == json.loads(result.text) and 10 <= result.parsed["age"] <= 99
    assert model.generate("x", grammar='root ::= "yes" | "no"', max_tokens=5).text in ("yes", "no")
    with pytest.raises(ValueError, match="exclude"):
        model.generate("x", regex="a", choices=["a"])
    with pytest.raises(wick.InvalidArgumentError):
        model.generate("x", regex="(")


def test_pydantic_models(model):
    pydantic = pytest.importorskip("pydantic")

    class Person(pydantic.BaseModel):
        married: bool
        rooms: int = pydantic.Field(ge=0, le=9)

    result = model.generate("Person: ", response_format=Person, max_tokens=60, temperature=0)
    assert isinstance(result.parsed, Person)


TEMPLATE = """{% if tools %}tools: {{ tools | tojson }}, called by <tool_call>{"name": ...}</tool_call>
{% endif %}{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls %}{{ '\\n' }}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}
{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"""


def test_tools_and_reasoning(tmp_path):
    template = tmp_path / "template.jinja"
    template.write_text(TEMPLATE)
    messages = [{"role": "user", "content": "Hello"}]

    def weather(city: str, days: int = 1) -> str:
        """The weather of a city."""
        return city * days

    with wick.load(NOVELIST, device="cpu", chat_template=str(template)) as chatty:
        assert '"name": "weather"' in chatty.render(messages, tools=[weather])
        form = '<think>Hm.</think><tool_call>\n{"name": "weather", "arguments": {"city": "Bath"}}\n</tool_call>'
        called = chatty.chat(messages, tools=[weather], choices=[form], max_tokens=200)
        assert called.reasoning == "Hm." and called.text == ""
        assert [(c.name, c.parse()) for c in called.tool_calls] == [("weather", {"city": "Bath"})]
        assert called.message["tool_calls"][0]["function"]["name"] == "weather" and called.message["content"] is None
        pieces = list(chatty.chat(messages, tools=[weather], choices=[form], max_tokens=200, stream=True))
        assert {piece.kind for piece in pieces} == {"reasoning", "tool_call"} and pieces[-1].call == called.tool_calls[0]
    from wick.llm import tool_of
    assert tool_of(weather)["function"]["parameters"] == {
        "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}


def test_conversations():
    # The second answer finds its prompt in the prefix cache: sums that are rounded otherwise could choose another token.
    with wick.load(NOVELIST, device="cpu", chat_template="chatml", deterministic=True) as chatty:
        messages = [{"role": "user", "content": "Hello"}]
        assert chatty.render(messages) == "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
        answer = chatty.chat(messages, max_tokens=12, temperature=0)
        stream = chatty.chat(messages, max_tokens=12, temperature=0, stream=True)
        assert "".join(stream) == answer.text and answer.message == {"role": "assistant", "content": answer.text}
        assert chatty.chat([*messages, answer.message, {"role": "user", "content": "And?"}], max_tokens=2).usage.prompt_tokens > 10
    with wick.load(NOVELIST, device="cpu") as plain, pytest.raises(wick.NotFoundError):
        plain.chat([{"role": "user", "content": "Hello"}])


def test_a_lone_surrogate_is_refused_by_its_place(model):
    for call in (model.embed, model.encode):
        with pytest.raises(ValueError, match="character 3 of text 1 is a lone surrogate"):
            call(["good", "bad\ud800"])


def test_embeddings(model):
    rows = model.embed(["The sea was calm.", "The ocean was calm.", "He paid the bill."])
    assert rows.shape == (3, model.info["width"])
    np.testing.assert_allclose((rows * rows).sum(1).numpy(), 1, rtol=1e-5)
    np.testing.assert_allclose(model.embed("He paid the bill.").numpy(), rows[2].numpy(), atol=2e-2)


def test_asyncio_runs_texts_side_by_side(model):
    async def pieces(prompt):
        return "".join([piece async for piece in model.generate(prompt, max_tokens=12, temperature=0, stream=True)])

    async def main():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        ticking = asyncio.create_task(tick())
        texts = await asyncio.gather(*[pieces(p) for p in ("The sea", "She said")], model.generate_async("A house", max_tokens=12))
        ticking.cancel()
        return texts, ticks

    (sea, said, house), ticks = asyncio.run(main())
    assert sea and said and house.text and ticks > 3


def test_texts_that_wait_for_a_place_hold_up_no_other_task():
    async def main(model):
        first = asyncio.create_task(model.generate_async("The sea", max_tokens=400, ignore_eos=True))
        others = [asyncio.create_task(model.generate_async("She said", max_tokens=400, ignore_eos=True)) for _ in range(40)]
        await asyncio.sleep(0.1)
        assert await asyncio.to_thread(lambda: 7) == 7  # asyncio's own threads are few
        alone = not first.done()
        pieces = model.generate("A house", max_tokens=5, stream=True)
        for task in (first, *others):
            task.cancel()
        done = await asyncio.gather(first, *others, return_exceptions=True)
        text = "".join([piece async for piece in pieces])
        return alone, [type(one) for one in done], text == pieces.result.text and len(pieces.result.tokens)

    with wick.load(NOVELIST, device="cpu", context=512, sequences=1) as model:
        alone, kinds, count = asyncio.run(main(model))
    assert alone and set(kinds) == {asyncio.CancelledError} and count == 5


def test_threads_share_a_model(model):
    texts = {}
    threads = [threading.Thread(target=lambda i=i: texts.update({i: model.generate("The sea", max_tokens=10, temperature=0).text}))
               for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(texts.values())) == 1 and len(texts) == 6


def test_tokenizers(model):
    text = "The sea, the sea!"
    tokens = model.tokenizer.encode(text)
    assert model.tokenizer.decode(tokens).strip() == text
    loaded = wick.Tokenizer.load(NOVELIST)
    assert loaded.encode(text) == tokens and len(loaded) == loaded.vocab_size == model.info["vocab_size"]
    assert b"".join(loaded.token_bytes(t) for t in tokens).decode().strip() == text
    with pytest.raises(IndexError):
        loaded.decode([10**6])
    with pytest.raises(FileNotFoundError):
        wick.Tokenizer.load("/nowhere/tokenizer.json")


def test_sessions(model, tmp_path):
    tokens = model.tokenize("The sea was calm. " * 20)
    model.generate(tokens, max_tokens=1)
    saved = model.save_session(tokens, tmp_path / "session")
    assert saved >= 32
    with wick.load(NOVELIST, device="cpu") as other:
        assert other.restore_session(tmp_path / "session") == saved
        assert other.generate(tokens, max_tokens=1).usage.cached_tokens >= saved - 32


def test_mistakes_are_one_clear_error(model, tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(20))
    cases = [(lambda: wick.load("/nowhere.gguf"), FileNotFoundError), (lambda: wick.load(broken, device="cpu"), wick.Error),
             (lambda: wick.load(NOVELIST, device="metal"), wick.BackendNotLinkedError),
             (lambda: wick.load(NOVELIST, device="cpu", context=10**9), ValueError),
             (lambda: model.generate("x", temprature=1), TypeError), (lambda: model.generate("x", temperature=101), ValueError),
             (lambda: model.generate("x", temperature="hot"), TypeError), (lambda: model.generate("word " * 9000), wick.ContextFullError),
             (lambda: model.generate([10**6]), IndexError), (lambda: model.generate("x", max_tokens=-1), ValueError)]
    for call, kind in cases:
        with pytest.raises(kind) as info:
            call()
        assert "\n" not in str(info.value)
    closed = wick.load(NOVELIST, device="cpu")
    closed.close()
    with pytest.raises(ValueError, match="closed"):
        closed.generate("x")


def run_python(program, *, signal_after=None):
    # Who runs the tests in the background has SIGINT ignored, and so would the program.
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + program
    process = subprocess.Popen([sys.executable, "-c", program, str(NOVELIST)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if signal_after is not None:
        assert process.stdout.readline() == "ready\n"
        time.sleep(signal_after)
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_ctrl_c_is_a_keyboard_interrupt():
    code, out, err = run_python("""
import sys, wick
model = wick.load(sys.argv[1], device="cpu")
print("ready", flush=True)
try:
    model.generate(["The sea"] * 200, max_tokens=2000, ignore_eos=True)
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted", model.generate("The sea", max_tokens=2).tokens != [])
""", signal_after=0.3)
    assert (code, out) == (0, "interrupted True\n"), err


def test_exit_with_live_tensors_and_running_streams():
    code, out, err = run_python("""
import sys, threading, wick
model = wick.load(sys.argv[1], device="cpu")
x = wick.ones((100,)); y = x.numpy()
stream = model.generate("The sea", max_tokens=2000, ignore_eos=True, stream=True)
next(stream)
threading.Thread(target=lambda: list(model.generate("A", max_tokens=1500, ignore_eos=True, stream=True)), daemon=True).start()
print("done")
""")
    assert (code, out) == (0, "done\n") and "terminate" not in err, err


def test_a_model_is_of_no_use_after_fork():
    code, out, err = run_python("""
import os, sys, wick
model = wick.load(sys.argv[1], device="cpu")
pid = os.fork()
if pid == 0:
    try:
        model.generate("x", max_tokens=1)
        os._exit(1)
    except RuntimeError as error:
        os._exit(0 if "fork" in str(error) else 2)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), model.generate("x", max_tokens=1).tokens != [])
""")
    assert (code, out) == (0, "0 True\n"), err


def test_adapters_change_texts_as_merged_weights_do(tmp_path):
    # scale · B · A by the standard's own arithmetic, added to the weight in a file of its own.
    tensors, metadata = wick.load_gguf(NOVELIST)
    name = "blk.1.ffn_down.weight"
    rows, columns = tensors[name].shape
    random = np.random.default_rng(9)
    a, b = (random.standard_normal(shape).astype(np.float32) * 0.3 for shape in ((4, columns), (rows, 4)))
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 4, "lora_alpha": 8, "bias": "none"}))
    prefix = "base_model.model.model.layers.1.mlp.down_proj.lora_"
    wick.save_tensors({prefix + "A.weight": wick.tensor(a), prefix + "B.weight": wick.tensor(b)}, folder / "adapter_model.safetensors")

    def merged(scale):
        weight = tensors[name].to("f32").numpy() + np.float32(scale * 2) * (b @ a)
        path = tmp_path / f"merged-{scale}.gguf"
        wick.save_gguf({**tensors, name: wick.tensor(weight)}, path, metadata)
        with wick.load(path, device="cpu", precise=True, context=256) as whole:
            return whole.generate("Once upon a time", temperature=0, max_tokens=12, logprobs=1)

    with wick.load(NOVELIST, device="cpu", precise=True, context=256) as model:
        base = model.generate("Once upon a time", temperature=0, max_tokens=12)
        assert model.adapters == {}
        model.add_adapter("odd", folder, scale=0.5)
        assert model.adapters == {"odd": 0.5}
        for adapters, scale in [("odd", 0.5), ({"odd": 1.0}, 1.0)]:
            got = model.generate("Once upon a time", temperature=0, max_tokens=12, logprobs=1, adapters=adapters)
            expected = merged(scale)
            assert got.tokens == expected.tokens != base.tokens
            np.testing.assert_allclose([one.logprob for one in got.logprobs], [one.logprob for one in expected.logprobs], atol=2e-3)
        assert model.generate("Once upon a time", temperature=0, max_tokens=12).tokens == base.tokens
        for call, error in [(lambda: model.generate("x", adapters=["even"]), ValueError), (lambda: model.add_adapter("odd", folder), ValueError),
                            (lambda: model.add_adapter("b", tmp_path / "none"), FileNotFoundError)]:
            with pytest.raises(error):
                call()


@pytest.fixture
def hub(monkeypatch):
    """The hub of the programs' own tests, and a cache of its own."""
    path = ROOT / "tests/programs/check_hub"
    check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_hub", importlib.machinery.SourceFileLoader("check_hub", str(path))))
    check.__spec__.loader.exec_module(check)
    if not check.has_libcurl():
        pytest.skip("no libcurl")
    with check.Hub() as made:
        monkeypatch.setenv("HF_ENDPOINT", made.endpoint)
        monkeypatch.setenv("WICK_CACHE_DIR", str(made.cache))
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield made


def test_a_folder_may_hold_the_model(tmp_path):
    (tmp_path / "one.gguf").symlink_to(NOVELIST)
    with wick.load(tmp_path, device="cpu", context=64) as model:
        assert model.tokenize("The sea")
    (tmp_path / "two.gguf").symlink_to(NOVELIST)
    for path, error, said in [(tmp_path, ValueError, "2 .gguf files"), (tmp_path.parent / "none", wick.NotFoundError, "no such file"), ("", ValueError, "empty"),
                              ("pypi://", ValueError, "pypi://NAME")]:
        with pytest.raises(error, match=said):
            wick.load(path)


def test_models_of_a_hub_are_downloaded_once(hub):
    for _ in range(2):
        with wick.load("hf://acme/novelist", device="cpu", context=256) as model:
            assert model.generate("The sea", max_tokens=2).tokens
        requests = len(hub.server.seen)
    with wick.load("hf://acme/novelist:novelist.gguf", device="cpu", context=256) as model:
        assert model.tokenize("The sea")
    assert len(hub.server.seen) == requests and list(hub.cache.rglob("*.gguf"))
    for name, error in [("hf://acme/none", wick.NotFoundError), ("hf://acme", ValueError), ("hf://acme/novelist:none.gguf", wick.NotFoundError)]:
        with pytest.raises(error) as info:
            wick.load(name)
        assert name in str(info.value) and "\n" not in str(info.value)


def test_ctrl_c_ends_loading_and_downloads():
    program = """
import http.server, os, sys, tempfile, threading, time
class Waits(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(60)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Waits)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ.update(HF_ENDPOINT=f"http://127.0.0.1:{server.server_port}", WICK_CACHE_DIR=tempfile.mkdtemp(), no_proxy="127.0.0.1")
import wick
print("ready", flush=True)
begin = time.monotonic()
try:
    wick.load("hf://acme/novelist")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - begin < 20)
"""
    code, out, err = run_python(program, signal_after=0.3)
    if "libcurl" in err:
        pytest.skip("no libcurl")
    assert (code, out) == (0, "interrupted True\n"), err

    def interrupt(done, total):
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            wick.load(NOVELIST, device="cpu", progress=interrupt)
    finally:
        signal.signal(signal.SIGINT, before)
