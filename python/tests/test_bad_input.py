"""What no program should do: each is a Python exception of one line, and the process lives."""
import gc
import os
import pathlib
import random
import subprocess
import sys
import threading

import numpy as np
import pytest

import wick
from wick import nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOVELIST = ROOT / "models/novelist-20m-q8_0.gguf"


def nested_in_itself():
    made = []
    made.append(made)
    return made


class Fails:
    """A number whose value nobody gets."""

    def __index__(self):
        raise KeyError("mine")

    def __float__(self):
        raise KeyError("mine")


class Shortens:
    """A number that empties the list it stands in."""

    def __init__(self, where):
        self.where = where

    def __index__(self):
        self.where.clear()
        return 1


class Grows:
    """A sequence that is longer each time it is read."""

    def __init__(self):
        self.length = 1

    def __len__(self):
        return self.length

    def __getitem__(self, place):
        if place >= self.length:
            self.length += 1000
            raise IndexError
        return wick.ones(2, "f16" if place else "f32")


def test_lists_that_hold_themselves_are_refused(tmp_path):
    mixed = [wick.ones(2)]
    mixed.append(mixed)
    for call in (lambda: wick.tensor(nested_in_itself()), lambda: wick.tensor(mixed), lambda: wick.zeros(2) + nested_in_itself(),
                 lambda: wick.save_gguf({}, tmp_path / "x.gguf", {"a": nested_in_itself()})):
        with pytest.raises(ValueError, match="more than|ragged"):
            call()
    with pytest.raises(TypeError):
        wick.zeros(nested_in_itself())


def test_objects_that_change_under_the_reader_are_survived():
    row = [1, 2, 3]
    row.insert(1, Shortens(row))
    assert wick.tensor(row).tolist() == [1, 1, 2, 3]  # the numbers were taken before
    shape = [2, 3, 4]
    shape[0] = Shortens(shape)
    with pytest.raises(IndexError):
        wick.zeros(shape)
    for function in (wick.cat, wick.stack):
        assert function(Grows()).dtype == wick.f32


def test_exceptions_of_numbers_are_theirs():
    x = wick.zeros((3, 3))
    for call in (lambda: x[Fails()], lambda: x[0, Fails()], lambda: x.sum(Fails()), lambda: wick.zeros(Fails()), lambda: wick.tensor([1, Fails()]),
                 lambda: x + Fails(), lambda: wick.tensor([1]) + Fails(), lambda: x.__setitem__(0, Fails()), lambda: x.reshape(Fails(), 3)):
        with pytest.raises(KeyError, match="mine"):
            call()


def test_numbers_that_are_too_large_are_not_cut_short():
    x = wick.arange(6).reshape(2, 3)
    for index in (2**70, -(2**70), (0, 2**70), 2**63, -(2**63)):
        with pytest.raises(IndexError):
            x[index]
    for call in (lambda: x.sum(2**32), lambda: x.permute(2**32, 1), lambda: x.flip(2**32 + 1), lambda: x.squeeze(2**32)):
        with pytest.raises(IndexError):
            call()
    for call in (lambda: x.reshape(-1, 2**32, 2**32 + 2), lambda: x.reshape(-1, 2**62, 2)):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError, match="pow"):
        wick.ones(2) ** 2**70


def test_integers_that_a_dtype_does_not_hold_are_refused():
    x = wick.tensor([1, 2], "u8")
    for call in (lambda: wick.tensor([[1, 300]], "u8"), lambda: wick.asarray(2**40, "i32"), lambda: wick.tensor([-1], "u32"), lambda: wick.full(2, 300, "u8"),
                 lambda: x.__setitem__(0, 300), lambda: x.__setitem__(slice(None), [0, -1])):
        with pytest.raises(OverflowError, match="does not fit into"):
            call()
    assert x.tolist() == [1, 2] and wick.tensor([0, 255], "u8").tolist() == wick.tensor([False, 255], "u8").tolist() == [0, 255]
    assert wick.tensor([300, 0], wick.bool).tolist() == [True, False]


def test_memory_that_cannot_be_shared_is_not_copied_in_silence():
    shared = np.zeros(3, np.float32)
    wick.asarray(shared, copy=False)[1] = 5
    assert shared.tolist() == [0, 5, 0]
    x = wick.zeros(2)
    assert wick.asarray(x, copy=False) is not None and wick.from_dlpack(shared, copy=False).tolist() == [0, 5, 0]
    frozen = np.zeros(3, np.float32)
    frozen.flags.writeable = False
    odd = np.frombuffer(bytearray(17), np.float32, offset=1, count=4)
    for call, word in ((lambda: wick.asarray(frozen, copy=False), "read-only"), (lambda: wick.from_dlpack(frozen, copy=False), "read-only"),
                       (lambda: wick.asarray(odd, copy=False), "aligned"), (lambda: wick.asarray(3, copy=False), "no memory"),
                       (lambda: wick.asarray([1, 2], copy=False), "no memory"), (lambda: wick.asarray(x, "f64", copy=False), "another dtype"),
                       (lambda: wick.asarray(shared, "f16", copy=False), "another dtype")):
        with pytest.raises((ValueError, BufferError), match=word):
            call()


def test_a_tensor_that_was_never_made_is_refused():
    empty, x = wick.Tensor.__new__(wick.Tensor), wick.zeros(2)
    for call in (lambda: x + empty, lambda: empty + x, lambda: empty.shape, lambda: x == empty, lambda: wick.cat([x, empty]), lambda: x.where(empty, x),
                 lambda: x[empty], lambda: wick.asarray(empty), lambda: x.__setitem__(0, empty), lambda: wick.from_dlpack(empty)):
        with pytest.raises(TypeError):
            call()


def test_a_kernel_whose_body_raised_is_of_no_use():
    k = wick.ir.KernelBuilder("broken", group_size=64)
    target = k.output("y", "f32")

    def body(*_):
        target[0] = 1.0
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        k.when(k.local_id() < 3)(body)
    for call in (k.finish, k.local_id, lambda: k.loop(0, 2)(body), lambda: k.buffer("x", "f32")):
        with pytest.raises(ValueError, match="an exception has left a body"):
            call()
    early = wick.ir.KernelBuilder("early", group_size=64)
    with pytest.raises(ValueError, match="has not come to its end"):
        early.loop(0, 2)(lambda i: early.finish())


@pytest.mark.parametrize("threads", [-1, 1025, 10**9])
def test_threads_that_no_machine_has_are_refused(threads):
    with pytest.raises(ValueError, match=f"{threads} threads asked for; give 1 to 1024"):
        wick.Device("cpu", threads=threads)


def test_a_path_need_not_be_utf_8():
    for call in (lambda: wick.load("/nowhere/\udcff.gguf"), lambda: wick.load_tensors("/nowhere/\udcff.safetensors")):
        with pytest.raises(FileNotFoundError, match=r"nowhere/\\xff"):
            call()
    for call in (lambda: wick.zeros(2, "\ud800"), lambda: wick.zeros(2, device="\ud800"), lambda: wick.zeros(2).to("\ud800")):
        with pytest.raises(TypeError, match="ud800"):
            call()


def test_values_within_arguments_are_named(tmp_path):
    optimizer = nn.SGD([wick.Var([1.0])], lr=0.1)
    x = wick.ones(2)
    cases = [(lambda: wick.Device(5), "Device"), (lambda: wick.save_tensors({1: x}, tmp_path / "a.npz"), "save_tensors"),
             (lambda: wick.save_tensors({"a": [1]}, tmp_path / "a.npz"), "save_tensors"), (lambda: wick.save_gguf({"a": 3}, tmp_path / "a"), "save_gguf"),
             (lambda: wick.save_gguf({3: x}, tmp_path / "a"), "save_gguf"), (lambda: wick.save_gguf({}, tmp_path / "a", {3: 4}), "save_gguf"),
             (lambda: wick.save_gguf({}, tmp_path / "a", {"big": 2**70}), "big"), (lambda: optimizer.step({"a": x}), "step"),
             (lambda: wick.Device("cpu").compile_source("x", "opencl", "f", buffers=[(1, "f32")]), "compile_source"),
             (lambda: wick.Device("cpu").compile_source("x", "opencl", "f", scalars=[("n", 4)]), "compile_source")]
    for call, word in cases:
        with pytest.raises(TypeError, match=word) as info:
            call()
        assert "\n" not in str(info.value) and "bad_cast" not in str(info.value)


@pytest.mark.parametrize("make, word", [
    (lambda: nn.Linear(0, 2), "in_features"), (lambda: nn.Linear("a", 2), "in_features"), (lambda: nn.Conv1d(3, [], 3), "out_channels"),
    (lambda: nn.Conv2d(3, 4, 0), "kernel_size"), (lambda: nn.Conv2d(3, 4, 3, groups=0), "groups"), (lambda: nn.Conv2d(3, 4, 3, groups=2), "multiples"),
    (lambda: nn.Conv2d(3, 4, 3, stride=0), "stride"), (lambda: nn.GRU({}, 0), "features"), (lambda: nn.LSTM(2, 0), "hidden"),
    (lambda: nn.LSTM(2, -1), "hidden"), (lambda: nn.MultiheadAttention(4, 0), "heads"), (lambda: nn.MultiheadAttention(4, 2, 0), "kv_heads"),
    (lambda: nn.GroupNorm(0, 4), "groups")])
def test_sizes_of_layers_are_named(make, word):
    with pytest.raises((TypeError, ValueError), match=word) as info:
        make()
    assert "\n" not in str(info.value)


def test_parameters_of_requests_are_named():
    with wick.load(NOVELIST, device="cpu", context=256) as model:
        for name, value in [("logit_bias", [1]), ("logit_bias", {"a": 1}), ("logit_bias", {1: "a"}), ("logit_bias", {2**40: 1}), ("adapters", {"a": "b"}),
                            ("adapters", {1: 1.0}), ("max_tokens", 2**70), ("max_tokens", 1.5), ("max_tokens", np.zeros((3, 3))), ("stop", [1]),
                            ("stop", "a\ud800"), ("seed", -1), ("temperature", [0]), ("logprobs", "all"), ("user", 4)]:
            with pytest.raises(TypeError, match=name) as info:
                model.generate("x", **{name: value})
            assert "\n" not in str(info.value), info.value
        assert model.generate("x", max_tokens=1).tokens
    with pytest.raises(TypeError, match="gpu_layers"):
        wick.load(NOVELIST, device="cpu", gpu_layers="all")
    with pytest.raises(TypeError, match="context"):
        wick.load(NOVELIST, device="cpu", context="long")


# Wrong things by the handful for every function: what comes is a result, or an exception of a kind that a program can expect.
RANDOM_CALLS = """
import gc, inspect, random, sys
import numpy as np
import wick
from wick import ir, nn
random.seed(int(sys.argv[1]))

def made():
    cyclic = []
    cyclic.append(cyclic)
    frozen = np.ones(3, np.float32)
    frozen.flags.writeable = False
    return [None, -1, 0, 3, 2**70, -2**63, 1.5, float("nan"), "a", "f32", "", "\\ud800", b"x", [], [1, [2]], [1.0, 2.0], (2, 3), (-1,), [2**62, 4], {}, {1: 2},
            object(), cyclic, wick.zeros(2), wick.zeros((2, 0)), wick.tensor(3), wick.ones((2, 3), "f16"), wick.arange(6).reshape(2, 3)[:, ::-1],
            wick.tensor([True, False]), wick.ones((1, 32)).quantize("q8_0"), wick.Var([1.0, 2.0]), np.zeros((2, 3))[:, ::2], frozen, np.zeros(3, np.complex64),
            np.zeros(4, dtype=[("a", np.int8), ("b", np.float32)])["b"], np.array(["a"]), np.float32(2), wick.float32, wick.Device("cpu"), slice(None, None, -1), ...,
            lambda *_: None, int, memoryview(b"abc"), range(3), True]

FINE = (TypeError, ValueError, IndexError, KeyError, OverflowError, MemoryError, NotImplementedError, BufferError, AttributeError, OSError, StopIteration, wick.Error)
targets = [(name, getattr(wick, name)) for name in dir(wick) if not name.startswith("_") and name not in ("candle", "array_api", "ir", "nn", "llm", "load", "Model")]
targets += [(f"nn.{name}", getattr(nn, name)) for name in nn.__all__] if hasattr(nn, "__all__") else []
receivers = [wick.ones((2, 3)), wick.arange(6).reshape(2, 3), wick.tensor([True, False, True]), wick.Var([1.0, 2.0]), wick.zeros((0, 3)), wick.tensor(2.5),
             wick.ones((2, 32)).quantize("q8_0"), wick.ones((2, 3), "f16").T]
SKIPPED = {"set_seed", "synchronize", "__class__", "__init_subclass__", "__subclasshook__", "__new__", "__getattribute__", "__setattr__", "__delattr__", "__dir__", "__reduce_ex__"}
for receiver in receivers:
    targets += [(f"{type(receiver).__name__}.{name}", getattr(receiver, name)) for name in dir(receiver) if name not in SKIPPED | {"mT", "T"}]
targets += [(f"KernelBuilder.{name}", getattr(ir.KernelBuilder("k"), name)) for name in dir(ir.KernelBuilder("k")) if name not in SKIPPED]
targets = [(name, target) for name, target in targets if callable(target) and not (inspect.isclass(target) and issubclass(target, BaseException))]
calls = 0
for name, target in targets:
    for _ in range(int(sys.argv[2])):
        values = random.choices(made(), k=random.choice([0, 1, 1, 2, 2, 3, 4]))
        shown = [type(value).__name__ for value in values]
        sys.stderr.write(f"{name} {shown}\\n")
        calls += 1
        try:
            target(*values)
        except FINE as error:
            assert "bad_cast" not in str(error), (name, shown, error)
        except Exception as error:
            raise AssertionError((name, shown)) from error
gc.collect()
print("calls", calls > 3000)
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_random_calls_raise_what_programs_expect(seed, tmp_path):
    sanitizer = {name: value for name, value in os.environ.items() if name in ("LD_PRELOAD", "ASAN_OPTIONS", "LSAN_OPTIONS", "PYTHONMALLOC")}
    done = subprocess.run([sys.executable, "-c", RANDOM_CALLS, str(seed), "8"], capture_output=True, text=True, cwd=tmp_path, timeout=300,
                          env={"PYTHONPATH": str(pathlib.Path(wick._wick.__file__).resolve().parents[1]), "PATH": "/usr/bin:/bin", **sanitizer})
    assert done.returncode == 0 and done.stdout == "calls True\n", (done.returncode, done.stderr[-3000:])


def run_threads(*works):
    failures = []

    def guarded(work):
        try:
            work()
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_threads_may_share_variables_and_an_optimizer():
    x = wick.Var(np.ones(1000, np.float32))
    optimizer = nn.AdamW([x], lr=0.01)

    def train():
        for _ in range(100):
            loss = (x * x).sum()
            try:
                loss.backward()
            except wick.InvalidArgumentError as error:
                assert "was written to" in str(error)  # the other one's step came between
            optimizer.step()

    def clear():
        for _ in range(300):
            optimizer.zero_grad()
            optimizer.learning_rate = optimizer.learning_rate
            x.grad = wick.from_numpy(np.zeros(1000, np.float32))  # whose memory needs the interpreter to be freed
            assert x.grad.shape == (1000,)

    run_threads(train, train, clear, gc.collect)
    assert np.isfinite(x.detach().numpy()).all()


def test_what_is_no_prompt_is_named():
    with wick.load(NOVELIST, device="cpu", context=256) as model:
        for call, word in ((lambda: model.generate(3), "got int"), (lambda: model.generate(None), "got NoneType"), (lambda: model.generate(b"abc"), "got bytes"),
                           (lambda: model.generate([1.5]), "list of float"), (lambda: model.generate(["a", 3]), "list of int|got int"),
                           (lambda: model.embed(3), "embed: .* got int"), (lambda: model.embed(["a", 3]), "embed: "),
                           (lambda: model.generate("a", choices="yes"), "choices: .* got str"), (lambda: model.generate("a", choices=[1]), "choices: "),
                           (lambda: model.generate("a", regex=3), "regex: .* got int")):
            with pytest.raises(TypeError, match=word) as info:
                call()
            assert "\n" not in str(info.value)
        texts = {model.generate(tokens, max_tokens=2, temperature=0).text for tokens in ([5, 6], (5, 6), np.array([5, 6]), wick.tensor([5, 6]))}
        assert len(texts) == 1


def test_a_stream_refuses_to_work_in_a_forked_child():
    program = f"""
import os, sys, wick
model = wick.load({str(NOVELIST)!r}, device="cpu", context=256)
stream = model.generate("The sea", max_tokens=40, ignore_eos=True, stream=True)
next(stream)
child = os.fork()
if child == 0:
    try:
        stream.read()
    except RuntimeError as error:
        print("fork" in str(error), flush=True)
    sys.exit(0)
print(os.waitpid(child, 0)[1], len(stream.read().tokens))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(pathlib.Path(wick._wick.__file__).resolve().parents[1])})
    assert done.returncode == 0 and done.stdout == "True\n0 40\n", done.stdout + done.stderr


def test_a_model_may_be_closed_while_it_is_used():
    for seed in range(6):
        model = wick.load(NOVELIST, device="cpu", context=256)
        waits = random.Random(seed)
        begun = threading.Barrier(4)

        def use(model=model, begun=begun):
            begun.wait()
            while True:
                try:
                    model.generate("The sea", max_tokens=3)
                    model.tokenize("The sea")
                    model.embed("The sea")
                except ValueError as error:
                    assert "closed" in str(error)
                    return

        def close(model=model, begun=begun, after=waits.uniform(0, 0.1)):
            begun.wait()
            threading.Event().wait(after)
            model.close()
            model.close()

        run_threads(use, use, use, close)


def test_a_closed_model_gives_its_memory_back():
    def resident():
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

    model = wick.load(NOVELIST, device="cpu", context=512, sequences=32)
    model.generate("The sea", max_tokens=2)
    before = resident()
    model.close()
    gc.collect()
    assert before - resident() > 10e6
    assert repr(model).startswith("<wick.Model") and model.tokenizer.encode("The sea")
    for call in (lambda: model.generate("x"), lambda: model.tokenize("x"), lambda: model.embed("x"), lambda: model.chat([{"role": "user", "content": "x"}]),
                 lambda: model.adapters, lambda: model.save_session([1], "x"), lambda: model.add_adapter("a", "b")):
        with pytest.raises(ValueError, match="closed"):
            call()
