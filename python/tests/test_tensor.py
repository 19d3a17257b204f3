"""Operators, functions, reductions, dtypes and errors, compared with NumPy."""
import copy
import operator
import pickle

import numpy as np
import pytest

import wick

DTYPES = {"u8": np.uint8, "u32": np.uint32, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
          "f16": np.float16, "f32": np.float32, "f64": np.float64}
RNG = np.random.default_rng(1)
A = RNG.standard_normal((3, 4)).astype(np.float32)
B = RNG.standard_normal((4,)).astype(np.float32)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod"])
def test_operators_broadcast_on_both_sides(name):
    function = getattr(operator, name)
    for x, y in [(A, B), (B, A), (A, 2.5), (2.5, A), (A, 3), (3, A), (A, np.float32(1.5))]:
        left, right = (wick.tensor(v) if isinstance(v, np.ndarray) else v for v in (x, y))
        np.testing.assert_allclose(function(left, right).numpy(), function(x, y), rtol=2e-6, atol=1e-6)
    # A NumPy array on the left leaves the operator to the tensor.
    result = function(A, wick.tensor(B))
    assert isinstance(result, wick.Tensor)
    np.testing.assert_allclose(result.numpy(), function(A, B), rtol=2e-6, atol=1e-6)


def test_powers_and_matrix_products():
    positive = np.abs(A) + 0.5
    np.testing.assert_allclose((wick.tensor(positive) ** 1.5).numpy(), positive ** 1.5, rtol=1e-5)
    np.testing.assert_allclose((2 ** wick.tensor(A)).numpy(), 2 ** A, rtol=1e-5)
    np.testing.assert_array_equal((wick.tensor([1, 2, 3]) ** 3).numpy(), [1, 8, 27])
    np.testing.assert_allclose((wick.tensor(A) @ wick.tensor(B)).numpy(), A @ B, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose((wick.tensor(A).T @ wick.tensor(A)).numpy(), A.T @ A, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose((A.T @ wick.tensor(A)).numpy(), A.T @ A, rtol=1e-5, atol=1e-6)
    assert (wick.tensor(B) @ wick.tensor(B)).shape == ()


def test_comparisons_are_bool():
    for name in ["lt", "le", "gt", "ge", "eq", "ne"]:
        function = getattr(operator, name)
        got = function(wick.tensor(A), wick.tensor(B))
        assert got.dtype == wick.bool and got.numpy().dtype == np.bool_
        np.testing.assert_array_equal(got.numpy(), function(A, B))
        np.testing.assert_array_equal(function(wick.tensor(A), 0).numpy(), function(A, 0))
    mask = (wick.tensor(A) > 0) & ~(wick.tensor(A) > 1) | (wick.tensor(A) < -1)
    np.testing.assert_array_equal(mask.numpy(), (A > 0) & ~(A > 1) | (A < -1))
    assert (wick.tensor(A) == None) is False  # noqa: E711
    assert "bool" in repr(mask)


def test_dtypes_are_promoted():
    for a, numpy_a in DTYPES.items():
        for b, numpy_b in DTYPES.items():
            got = (wick.ones(2, a) + wick.ones(2, b)).dtype
            if "f" not in a + b:
                assert got.name == {np.dtype(v).name: k for k, v in DTYPES.items()}[np.result_type(numpy_a, numpy_b).name], (a, b)
            else:
                assert got == wick.promote_types(a, b)
    assert (wick.tensor([1, 2]) / 2).dtype == wick.float32
    assert (wick.tensor([1, 2]) + 0.5).tolist() == [1.5, 2.5]
    assert (wick.tensor([1, 2], "u8") + 1).dtype == wick.u8
    assert (wick.tensor([True, False]) + wick.tensor([True, True])).dtype == wick.bool
    assert wick.tensor([True, True]).sum().item() == 2
    with pytest.raises(OverflowError):
        wick.tensor([1], "u8") + 256
    assert (wick.tensor([2**62]) + (2**53 + 1)).item() == 2**62 + 2**53 + 1


UNARY = ["abs", "sign", "floor", "ceil", "trunc", "exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "expm1", "exp2"]


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_each_element(name):
    np.testing.assert_allclose(getattr(wick.tensor(A), name)().numpy(), getattr(np, name)(A), rtol=1e-5, atol=1e-6)
    assert getattr(wick.tensor([1, 2]), name)().shape == (2,)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "amax", "amin", "std", "var", "any", "all", "argmax", "argmin"])
def test_reductions(name):
    for dim in [None, 0, 1, -1] + ([] if "arg" in name else [(0, 1)]):
        for keepdim in [False, True]:
            options = {"ddof": 1} if name in ("std", "var") else {}
            expected = getattr(np, name)(A, axis=dim, keepdims=keepdim, **options)
            got = getattr(wick.tensor(A), name)(dim, keepdim)
            np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-6)
            assert got.shape == expected.shape


def test_shapes_and_views():
    x = wick.tensor(A)
    assert x.reshape(2, -1).shape == (2, 6) and x.reshape((4, 3)).shape == (4, 3)
    assert x.T.shape == (4, 3) and x.T.strides == (1, 4)
    assert x.permute(1, 0).tolist() == A.T.tolist()
    assert wick.cat([x, x], 1).shape == (3, 8) and wick.stack([x, x]).shape == (2, 3, 4)
    assert x.unsqueeze(0).squeeze().shape == (3, 4)
    assert [part.shape for part in x.chunk(2, 1)] == [(3, 2), (3, 2)]
    values, indices = x.sort(1, descending=True)
    np.testing.assert_array_equal(values.numpy(), -np.sort(-A, 1))
    np.testing.assert_array_equal(indices.numpy(), np.argsort(-A, 1, kind="stable"))
    np.testing.assert_allclose(wick.einsum("ij,kj->ik", x, x).numpy(), np.einsum("ij,kj->ik", A, A), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(wick.where(x > 0, x, 0).numpy(), np.where(A > 0, A, 0))
    np.testing.assert_allclose(x.softmax().numpy().sum(1), 1, rtol=1e-6)


def test_creation():
    assert wick.tensor(3).dtype == wick.i64 and wick.tensor(3.5).dtype == wick.f32 and wick.tensor(True).dtype == wick.bool
    assert wick.tensor([[1, 2], [3, 4]], dtype=wick.f64).tolist() == [[1, 2], [3, 4]]
    assert wick.arange(5).tolist() == [0, 1, 2, 3, 4] and wick.arange(0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75]
    assert wick.linspace(0, 1, 3).tolist() == [0, 0.5, 1]
    assert wick.full((2,), 7).dtype == wick.i64 and wick.zeros((2, 0)).shape == (2, 0)
    assert wick.full((), 2**63 - 1).item() == 2**63 - 1
    assert wick.eye(2).tolist() == [[1, 0], [0, 1]]
    device = wick.Device("cpu")
    device.set_seed(4)
    first = wick.randn((100,), device=device)
    device.set_seed(4)
    assert (first == wick.randn((100,), device=device)).all()
    assert wick.tensor([wick.ones(2), wick.zeros(2)]).shape == (2, 2)
    for bad in [[[1, 2], [3]], [1, [2]], [[1], 2]]:
        with pytest.raises(ValueError, match="ragged"):
            wick.tensor(bad)


def test_python_numbers():
    assert float(wick.tensor(1.5)) == 1.5 and int(wick.tensor([7])) == 7 and bool(wick.tensor(0)) is False
    assert [10, 20, 30][wick.tensor(1)] == 20
    assert len(wick.zeros((3, 2))) == 3 and [x.item() for x in wick.arange(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="not defined"):
        bool(wick.zeros(2))
    with pytest.raises(TypeError):
        len(wick.tensor(1))
    assert len({wick.tensor(1), wick.tensor(1)}) == 2


@pytest.mark.parametrize("dtype", [*DTYPES, "bool", "bf16"])
def test_pickles_keep_everything(dtype):
    x = wick.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype).T
    for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert made.dtype == x.dtype and made.shape == x.shape and made.tolist() == x.tolist()
    assert pickle.loads(pickle.dumps(wick.float32)) == wick.float32
    assert pickle.loads(pickle.dumps(wick.Device("cpu"))) == wick.Device("cpu")


def test_errors_are_of_the_kinds_that_python_programs_expect():
    x = wick.zeros((2, 3))
    cases = [(lambda: x + wick.zeros((4, 5)), ValueError, wick.ShapeError), (lambda: x @ x, ValueError, wick.ShapeError),
             (lambda: x.sum(5), IndexError, wick.IndexOutOfRangeError), (lambda: x.reshape(4, 2), ValueError, None),
             (lambda: wick.zeros((-1,)), ValueError, wick.ShapeError), (lambda: x.to("f31"), TypeError, None),
             (lambda: wick.Device("metal"), RuntimeError, wick.BackendNotLinkedError),
             (lambda: wick.Device("gpu"), ValueError, wick.InvalidArgumentError), (lambda: x + "a", TypeError, None),
             (lambda: x.add(None), TypeError, None), (lambda: wick.tensor("abc"), TypeError, None),
             (lambda: wick.tensor(object()), TypeError, None), (lambda: wick.zeros([1] * 9), ValueError, wick.ShapeError),
             (lambda: wick.zeros("a"), TypeError, None), (lambda: wick.full((2**40, 2**20), 0.0), MemoryError, wick.OutOfMemoryError),
             (lambda: wick.tensor([1]) ** -1, ValueError, None), (lambda: wick.cat([]), ValueError, None),
             (lambda: wick.cat([x, 3]), TypeError, None), (lambda: -wick.tensor([True]), TypeError, None)]
    for call, builtin, own in cases:
        with pytest.raises(builtin) as info:
            call()
        assert "\n" not in str(info.value)
        if own:
            assert isinstance(info.value, own) and isinstance(info.value, wick.Error)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn", "full", "broadcast_to", "broadcast_left", "repeat"])
def test_an_error_of_a_shape_names_the_function(name):
    call = {"full": lambda: wick.full((-1, 2), 0.0)}.get(name) or getattr(wick.zeros((1, 2)) if hasattr(wick.Tensor, name) else wick, name)
    with pytest.raises(wick.ShapeError, match=rf"^{name}: shape \[-1, 2\]: extent -1 is negative"):
        call((-1, 2)) if name != "full" else call()


def test_an_absent_backend_is_named_with_its_remedy():
    assert wick.HAS_CPU and "cpu" in wick.backends() and not wick.HAS_METAL
    with pytest.raises(wick.BackendNotLinkedError, match="metal"):
        wick.zeros(2, device="metal")
    assert wick.is_available("cpu") and not wick.is_available("cpu:7")


def test_large_integers_are_compared_exactly():
    numbers = [2**62 + 1, -(2**62) - 1, 2**53 + 1, -(2**53) - 1, -(2**31), 0]
    x = wick.tensor(numbers, "i64")
    for number in (*numbers, 2**62, -(2**62), 2**53, -(2**53)):
        assert (x == number).tolist() == [each == number for each in numbers]
        assert (x < number).tolist() == [each < number for each in numbers]


SPECIAL = np.array([0.0, -0.0, 1, -1, np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-40, 0.5, 7, -7, 3, -3, 2.5, 1e-8, 1e30], np.float32)


@pytest.mark.parametrize("name", ["atan2", "remainder", "fmod"])
def test_functions_of_two_f32_are_those_of_f64_rounded(name):
    draw = np.random.default_rng(2)
    random = [(draw.standard_normal(5003) * 10 ** draw.uniform(-6, 6, 5003)).astype("f4") for _ in range(2)]
    for x, y in ([grid.ravel() for grid in np.meshgrid(SPECIAL, SPECIAL)], random):
        with np.errstate(all="ignore"):
            reference = {"atan2": np.arctan2, "remainder": np.mod, "fmod": np.fmod}[name]
            expected = reference(x.astype("f8"), y.astype("f8")).astype("f4")
        found = getattr(wick.from_numpy(x), name)(wick.from_numpy(y)).numpy()
        if name == "remainder":  # of a finite number by infinity it is NumPy's; of infinity NaN
            assert np.array_equal(np.isnan(found), np.isnan(expected))
        np.testing.assert_array_max_ulp(np.nan_to_num(found), np.nan_to_num(expected), 1)


@pytest.mark.parametrize("name", ["atan", "log1p", "expm1", "exp2", "log2", "log10"])
def test_functions_of_one_f32_are_those_of_f64_rounded(name):
    draw = np.random.default_rng(2)
    x = np.concatenate([SPECIAL, (draw.standard_normal(5003) * 10 ** draw.uniform(-6, 6, 5003)).astype("f4")])
    with np.errstate(all="ignore"):
        expected = getattr(np, {"atan": "arctan"}.get(name, name))(x.astype("f8")).astype("f4")
    found = getattr(wick.from_numpy(x), name)().numpy()
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_max_ulp(np.nan_to_num(found), np.nan_to_num(expected), 1)
