"""Memory shared with NumPy, JAX, PyTorch and buffers."""
import array
import ctypes
import gc
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import wick

NUMPY_DTYPES = [np.bool_, np.uint8, np.uint32, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32, np.float64]


@pytest.mark.parametrize("dtype", NUMPY_DTYPES, ids=lambda d: d.__name__)
def test_numpy_shares_memory_both_ways(dtype):
    source = np.arange(12).reshape(3, 4).astype(dtype)
    for view in (source, source.T, source[::-1], source[:, ::2], source[::-1, ::-2].T, source[1:1]):
        x = wick.from_numpy(view)
        assert x.shape == view.shape
        np.testing.assert_array_equal(x.numpy(), view)
        back = np.from_dlpack(x)
        assert back.dtype == view.dtype
        if view.size:
            assert np.shares_memory(back, source)
    x = wick.from_numpy(source)
    x[0, 0] = 1
    source[2, 3] = 0
    assert source[0, 0] == 1 and x[2, 3].item() == 0


def test_read_only_arrays_are_copied():
    source = np.ones(3, np.float32)
    source.flags.writeable = False
    x = wick.asarray(source)
    x[0] = 5
    assert source[0] == 1
    x = wick.from_dlpack(source)
    x[0] = 5
    assert source[0] == 1


def test_memory_lives_as_long_as_someone_looks_at_it():
    x = wick.from_numpy(np.full(1000, 3.0))
    gc.collect()
    assert x.sum().item() == 3000
    y = wick.full((1000,), 2.0).numpy()
    gc.collect()
    assert y.sum() == 2000


def test_copies_where_asked_for():
    source = np.zeros(3, np.float32)
    x = wick.from_dlpack(source, copy=True)
    x[0] = 1
    assert source[0] == 0
    with pytest.raises(BufferError):
        wick.zeros(2).__dlpack__(dl_device=(2, 0))
    assert wick.zeros(2).__dlpack_device__() == (1, 0)
    assert "versioned" in repr(wick.zeros(2).__dlpack__(max_version=(1, 0)))
    assert "versioned" not in repr(wick.zeros(2).__dlpack__())


def test_a_capsule_is_used_once():
    capsule = wick.ones(2).__dlpack__()
    assert wick.from_dlpack(capsule).tolist() == [1, 1]
    with pytest.raises(BufferError):
        wick.from_dlpack(capsule)
    del capsule
    wick.ones(2).__dlpack__(max_version=(1, 0))  # never used: freed
    gc.collect()


def test_objects_that_cannot_be_taken_say_why():
    with pytest.raises(TypeError, match="complex|format|Zd"):
        wick.tensor(np.zeros(2, np.complex64))
    with pytest.raises(TypeError):
        wick.tensor(np.zeros(2, np.uint16))
    with pytest.raises(ValueError, match="strides"):
        wick.tensor(np.zeros(4, dtype=[("a", np.int8), ("b", np.float32)])["b"])
    with pytest.raises(TypeError):
        wick.tensor(np.array(["a"]))
    with pytest.raises(TypeError, match="bf16"):
        wick.zeros(2, "bf16").numpy()
    with pytest.raises(TypeError):
        wick.from_dlpack(3)
    with pytest.raises((ValueError, wick.ShapeError)):
        wick.tensor(np.zeros([1] * 10))


def test_buffers_of_the_standard_library():
    numbers = array.array("f", [1, 2, 3])
    assert wick.asarray(numbers).tolist() == [1, 2, 3]
    assert wick.asarray(memoryview(numbers)[::2]).tolist() == [1, 3]
    assert wick.asarray(bytearray(b"ab")).tolist() == [97, 98]


def test_jax_arrays():
    jnp = pytest.importorskip("jax.numpy")
    source = jnp.arange(6, dtype=jnp.float32).reshape(2, 3)
    x = wick.from_dlpack(source)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    x[0, 0] = 9  # JAX's arrays are read-only: this is a copy
    assert source[0, 0] == 0
    back = jnp.from_dlpack(wick.arange(6, dtype=wick.f32).reshape(2, 3))
    assert back.tolist() == [[0, 1, 2], [3, 4, 5]]
    half = jnp.ones(4, jnp.bfloat16)
    assert wick.from_dlpack(half).dtype == wick.bf16
    assert jnp.from_dlpack(wick.ones(3, "bf16")).dtype == jnp.bfloat16


def has_torch(python):
    found = subprocess.run([python, "-c", "import sys, torch; print(*sys.version_info[:2])"], capture_output=True, text=True)
    return found.returncode == 0 and found.stdout.split() == [str(part) for part in sys.version_info[:2]]


def test_torch_tensors():
    """By this Python's PyTorch, or by the system's."""
    python = next((one for one in (sys.executable, "/usr/bin/python3") if os.path.exists(one) and has_torch(one)), None)
    if python is None:
        pytest.skip("no PyTorch for this Python")
    program = """
import torch, wick
for source in (torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3).T, torch.ones(4, dtype=torch.bfloat16), torch.arange(5),
               torch.arange(12.0)[::3], torch.tensor(2.5), torch.ones((0, 3))):
    x = wick.from_dlpack(source)
    assert x.tolist() == source.tolist() and x.shape == tuple(source.shape)
    back = torch.from_dlpack(x)
    assert back.dtype == source.dtype and back.stride() == source.stride()
    back[...] = 7
    assert x.tolist() == source.tolist()
assert torch.from_dlpack(wick.arange(6, dtype=wick.f32).reshape(2, 3)[:, 1:]).tolist() == [[1, 2], [4, 5]]
x = wick.from_dlpack(torch.full((1000,), 3.0))
assert x.sum().item() == 3000
print("shared")
"""
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": str(pathlib.Path(wick._wick.__file__).resolve().parents[1])})
    assert done.returncode == 0 and done.stdout == "shared\n", done.stderr


class Managed(ctypes.Structure):
    """DLManagedTensorVersioned of DLPack's specification, and what a producer keeps beside it."""

    DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", DELETER), ("flags", ctypes.c_uint64),
                ("data", ctypes.c_void_p), ("device_kind", ctypes.c_int32), ("device_index", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("byte_offset", ctypes.c_uint64)]


class Producer:
    """Gives float32 numbers as a library of its own would; each argument may be wrong."""

    def __init__(self, numbers, extents=None, steps=None, **fields):
        self.numbers = (ctypes.c_float * len(numbers))(*numbers)
        extents = [len(numbers)] if extents is None else extents
        self.shape, self.strides = (ctypes.c_int64 * len(extents))(*extents), steps and (ctypes.c_int64 * len(steps))(*steps)
        self.given_back = 0
        values = {"major": 1, "minor": 1, "deleter": Managed.DELETER(self._take_back), "data": ctypes.addressof(self.numbers), "device_kind": 1, "rank": len(extents),
                  "code": 2, "bits": 32, "lanes": 1, "shape": ctypes.addressof(self.shape), "strides": self.strides and ctypes.addressof(self.strides)}
        self.managed = Managed(**{**values, **fields})

    def _take_back(self, _):
        self.given_back += 1

    def __dlpack_device__(self):
        return (self.managed.device_kind, self.managed.device_index)

    def __dlpack__(self, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor_versioned", None)


def test_memory_of_any_producer_is_given_back_once():
    producer = Producer([1, 2, 3, 4, 5, 6], [2, 3], [1, 2])
    x = wick.from_dlpack(producer)
    assert x.tolist() == [[1, 3, 5], [2, 4, 6]]
    x[0, 1] = 9
    view = x[1:]
    assert producer.numbers[2] == 9
    del x
    gc.collect()
    assert producer.given_back == 0 and view.tolist() == [[2, 4, 6]]
    del view
    gc.collect()
    assert producer.given_back == 1
    backwards = Producer([1, 2, 3], steps=[-1], byte_offset=8)
    assert wick.from_dlpack(backwards).tolist() == [3, 2, 1]
    assert wick.from_dlpack(Producer([7], [2, 2], [0, 0])).tolist() == [[7, 7], [7, 7]]
    assert wick.from_dlpack(Producer([], [0], data=None)).shape == (0,)
    assert wick.from_dlpack(Producer([5], [])).item() == 5


@pytest.mark.parametrize("fields, error, words", [
    ({"major": 2}, BufferError, "version 2"), ({"rank": 9}, ValueError, "9 dimensions"), ({"rank": -1}, ValueError, "-1 dimensions"),
    ({"shape": None}, ValueError, "no shape"), ({"data": None}, ValueError, "no memory"), ({"code": 5, "bits": 64}, TypeError, "code 5"),
    ({"lanes": 4}, TypeError, "4 lanes"), ({"bits": 31}, TypeError, "31 bits"), ({"device_kind": 7}, ValueError, "device .7, 0."),
], ids=lambda value: str(value) if isinstance(value, dict) else "")
def test_what_a_producer_gets_wrong_is_named(fields, error, words):
    producer = Producer([1, 2], **fields)
    with pytest.raises(error, match=words):
        wick.from_dlpack(producer)
    gc.collect()
    assert producer.given_back <= 1


def test_a_negative_extent_is_refused():
    with pytest.raises(ValueError, match="extent of -2"):
        wick.from_dlpack(Producer([1, 2], [-2]))


def test_exceptions_of_producers_are_theirs():
    class Fails:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **_):
            raise KeyError("mine")

    class Lies(Fails):
        def __dlpack_device__(self):
            return "gpu"

    class GivesNothing(Fails):
        def __dlpack__(self, **_):
            return None

    with pytest.raises(KeyError, match="mine"):
        wick.from_dlpack(Fails())
    with pytest.raises(TypeError, match="Lies.__dlpack_device__"):
        wick.from_dlpack(Lies())
    with pytest.raises(BufferError, match="none of DLPack's"):
        wick.from_dlpack(GivesNothing())


def test_memory_of_gpus_is_shared_in_place():
    """By drivers that are faked (tests/fake_gpu), where they are built: their memory is the host's."""
    fakes = pathlib.Path(__file__).resolve().parents[2] / "build/dev/tests/fake_gpu"
    kinds = [(kind, code) for kind, code, library in (("cuda", 2, "libcuda.so.1"), ("rocm", 10, "libamdhip64.so.7"))
             if kind in wick.backends() and (fakes / library).exists()]
    if not kinds:
        pytest.skip("no fakes of GPUs, or a module without their backends")
    program = """
import sys, wick
device, code = sys.argv[1], int(sys.argv[2])
x = wick.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device=device)
assert x.__dlpack_device__() == (code, 0)

class Other:
    def __init__(self, tensor):
        self.tensor, self.asked = tensor, {}

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **wishes):
        self.asked = wishes
        return self.tensor.__dlpack__(**wishes)

other = Other(x[:, ::-1])
y = wick.from_dlpack(other)
assert str(y.device) == str(x.device) and other.asked["stream"] > 0
y[0, 0] = 9
assert x.tolist() == [[1, 2, 9], [4, 5, 6]] and (y + 1).tolist() == [[10, 3, 2], [7, 6, 5]]
assert wick.from_dlpack(x, device="cpu").tolist() == x.tolist()
assert wick.from_dlpack(x.__dlpack__(dl_device=(1, 0))).device == wick.Device("cpu")
for wrong in ({"dl_device": (1, 0), "copy": False}, {"dl_device": (code, 1)}, {"dl_device": (8, 0)}):
    try:
        x.__dlpack__(**wrong)
    except BufferError:
        continue
    raise AssertionError(wrong)
copy = wick.from_dlpack(x, copy=True)
copy[0, 0] = 5
assert x[0, 0].item() == 1
print("shared")
"""
    for kind, code in kinds:
        done = subprocess.run([sys.executable, "-c", program, f"{kind}:0", str(code)], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "LD_LIBRARY_PATH": str(fakes), "PYTHONPATH": str(pathlib.Path(wick._wick.__file__).resolve().parents[1])})
        assert done.returncode == 0 and done.stdout == "shared\n", done.stderr
