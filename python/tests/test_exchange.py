"""Memory shared with NumPy, JAX, PyTorch and buffers."""
import array
import gc

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


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    for source in (torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3).T, torch.ones(4, dtype=torch.bfloat16)):
        x = wick.from_dlpack(source)
        assert x.tolist() == source.tolist()
        back = torch.from_dlpack(x)
        assert back.dtype == source.dtype and back.stride() == source.stride()
        back[0] = 7
        assert x.tolist() == source.tolist()
