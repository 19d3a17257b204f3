"""candle.testing."""
from __future__ import annotations

from ._tensor import Tensor


def _check(actual: Tensor, expected: Tensor, check_device: bool, check_dtype: bool, check_layout: bool, check_stride: bool) -> None:
    if check_device:
        assert actual.device == expected.device, f"devices differ: {actual.device} and {expected.device}"
    if check_dtype:
        assert actual.dtype == expected.dtype, f"dtypes differ: {actual.dtype} and {expected.dtype}"
    if check_layout:
        assert actual.shape == expected.shape, f"shapes differ: {actual.shape} and {expected.shape}"
    if check_stride:
        assert actual.stride == expected.stride, f"strides differ: {actual.stride} and {expected.stride}"


def assert_equal(actual: Tensor, expected: Tensor, check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
                 check_stride: bool = False) -> None:
    """Asserts that all elements are equal."""
    _check(actual, expected, check_device, check_dtype, check_layout, check_stride)
    assert bool(actual._tensor.eq(expected._tensor).all()), f"tensors differ: {actual} and {expected}"


def assert_almost_equal(actual: Tensor, expected: Tensor, rtol: float = 1e-05, atol: float = 1e-08, check_device: bool = True,
                        check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False) -> None:
    """Asserts |actual - expected| ≤ atol + rtol · |expected|, in f64."""
    _check(actual, expected, check_device, check_dtype, check_layout, check_stride)
    left, right = actual._tensor.to("f64"), expected._tensor.to("f64")
    near = (left - right).abs() <= right.abs() * rtol + atol
    assert bool(near.all()), f"tensors differ: {actual} and {expected}"
