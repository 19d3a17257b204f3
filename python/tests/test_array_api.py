"""The array API standard's namespace, compared with NumPy's. scripts/array_api_check runs the standard's own suite."""
import numpy as np
import pytest

import wick

xp = wick.array_api
RNG = np.random.default_rng(2)
A = RNG.standard_normal((3, 4)).astype(np.float32)
WHOLE = RNG.integers(-100, 100, (3, 4), dtype=np.int32)


def test_tensors_name_their_namespace():
    x = wick.tensor([1.0])
    assert x.__array_namespace__() is xp and x.__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ValueError, match="2021.12"):
        x.__array_namespace__(api_version="2021.12")
    info = xp.__array_namespace_info__()
    assert info.default_device() in info.devices() and info.default_dtypes()["real floating"] == xp.float32
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint32"}
    assert info.capabilities()["boolean indexing"] and xp.zeros((1,) * info.capabilities()["max dimensions"]).ndim == 8


@pytest.mark.parametrize("symbol", ["&", "|", "^", "<<", ">>"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.int32, np.uint32, np.int64])
def test_integers_have_bits(symbol, dtype):
    bounds = np.iinfo(dtype)
    a = RNG.integers(bounds.min, bounds.max, 64, dtype=dtype, endpoint=True)
    b = RNG.integers(0, 2 * bounds.bits, 64).astype(dtype) if symbol in ("<<", ">>") else RNG.integers(bounds.min, bounds.max, 64, dtype=dtype, endpoint=True)
    scope = {"a": a, "b": b, "x": wick.tensor(a), "y": wick.tensor(b)}
    got = eval(f"x {symbol} y", scope)
    assert got.dtype == wick.DType(np.dtype(dtype))
    np.testing.assert_array_equal(got.numpy(), eval(f"a {symbol} b", scope))
    np.testing.assert_array_equal((wick.tensor(a) & 3).numpy(), a & dtype(3))
    np.testing.assert_array_equal((~wick.tensor(a)).numpy(), ~a)
    with pytest.raises(TypeError):
        wick.tensor(A) & wick.tensor(A)


def test_results_are_numpy_s():
    x, n = wick.tensor(A), wick.tensor(WHOLE)
    cases = [(xp.round(x * 2 + 0.5), np.round(A * 2 + 0.5)), (xp.sum(n, axis=1), WHOLE.sum(1)), (xp.std(x, axis=0), A.std(0)),
             (xp.cumulative_sum(x, axis=1, include_initial=True)[:, 1:], A.cumsum(1)), (xp.diff(n, n=2), np.diff(WHOLE, n=2)),
             (xp.matmul(n, n.T), WHOLE @ WHOLE.T), (xp.tensordot(x, x, axes=([0], [0])), np.tensordot(A, A, axes=([0], [0]))),
             (xp.moveaxis(xp.reshape(x, (3, 2, 2)), 0, -1), np.moveaxis(A.reshape(3, 2, 2), 0, -1)), (xp.tile(x, (2, 1, 2)), np.tile(A, (2, 1, 2))),
             (xp.roll(x, (1, -2), axis=(0, 1)), np.roll(A, (1, -2), (0, 1))), (xp.repeat(n, wick.tensor([2, 0, 1]), axis=0), np.repeat(WHOLE, [2, 0, 1], 0)),
             (xp.eye(3, 5, k=-1), np.eye(3, 5, k=-1)), (xp.linspace(0, 1, 7, endpoint=False), np.linspace(0, 1, 7, endpoint=False)),
             (xp.clip(n, -5.5, 300), np.clip(WHOLE, -5, 300)), (xp.take_along_axis(x, xp.argsort(x, axis=1), axis=1), np.sort(A, 1)),
             (xp.hypot(x, x), np.hypot(A, A)), (xp.nextafter(x, xp.zeros_like(x)), np.nextafter(A, np.float32(0))), (xp.logaddexp(x, -x), np.logaddexp(A, -A)),
             (xp.copysign(x, -x), np.copysign(A, -A)), (xp.signbit(xp.asarray([0.0, -0.0])), np.array([False, True])),
             (xp.arange(2**60, 2**60 + 3), np.arange(2**60, 2**60 + 3))]
    for got, expected in cases:
        assert got.shape == expected.shape
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_and_unique(side):
    known, wanted = np.sort(RNG.integers(0, 20, 40)), RNG.integers(-2, 23, (5, 6))
    np.testing.assert_array_equal(xp.searchsorted(wick.tensor(known), wick.tensor(wanted), side=side).numpy(), np.searchsorted(known, wanted, side))
    found = xp.unique_all(wick.tensor(wanted))
    values, indices, inverse, counts = np.unique(wanted, True, True, True)
    for got, expected in zip(found, (values, indices, inverse.reshape(wanted.shape), counts)):
        np.testing.assert_array_equal(got.numpy(), expected)
    assert xp.unique_values(xp.asarray([float("nan")] * 3)).size == 3


def test_what_the_standard_forbids_is_an_error():
    x, n, b = wick.tensor(A), wick.tensor(WHOLE), wick.tensor([True])
    for call in [lambda: xp.add(n, 1.5), lambda: xp.add(b, n), lambda: xp.bitwise_and(x, x), lambda: xp.imag(x)]:
        with pytest.raises(TypeError):
            call()
    for call in [lambda: xp.squeeze(x, 0), lambda: xp.concat([]), lambda: xp.isdtype(xp.int8, "whole"), lambda: xp.reshape(x.T, (12,), copy=False),
                 lambda: xp.nonzero(xp.asarray(1)), lambda: xp.searchsorted(x[0], x[0], side="middle")]:
        with pytest.raises(ValueError):
            call()
    assert xp.isdtype(xp.int8, ("bool", "signed integer")) and not xp.can_cast(xp.float64, xp.float32) and xp.can_cast(xp.uint8, xp.int16)
    assert xp.finfo(xp.float32).eps == np.finfo(np.float32).eps and xp.iinfo(xp.uint32).max == 2**32 - 1
