"""The extension linalg of the array API namespace, against NumPy."""
import numpy as np
import pytest

import wick

linalg = wick.array_api.linalg
SHAPES = [(3, 3), (2, 4, 4), (5, 3), (3, 5), (4, 1), (1, 4), (2, 3, 6, 2)]


@pytest.fixture(params=["lapack", "own"], autouse=True)
def library(request):
    """Decompositions by a library, where one is there, and by Wick's own code."""
    linalg.lapack.cache_clear()
    if linalg.lapack() is None and request.param == "lapack":
        pytest.skip("no LAPACK is there")
    if request.param == "own":
        wick._wick._open_lapack([])
    yield
    linalg.lapack.cache_clear()


@pytest.fixture(params=SHAPES, ids=str)
def matrix(request):
    return np.random.default_rng(7).standard_normal(request.param)


@pytest.fixture(params=[(3, 3), (2, 4, 4), (1, 1), (7, 7)], ids=str)
def square(request):
    return np.random.default_rng(8).standard_normal(request.param)


def test_svd_is_of_orthogonal_matrices_and_falling_values(matrix):
    x = wick.tensor(matrix)
    u, s, vh = linalg.svd(x, full_matrices=False)
    np.testing.assert_allclose(s.numpy(), np.linalg.svd(matrix, compute_uv=False), atol=1e-12)
    np.testing.assert_allclose((u * s.unsqueeze(-2) @ vh).numpy(), matrix, atol=1e-12)
    u, _, vh = linalg.svd(x)
    for whole in (u.numpy(), vh.numpy()):
        assert whole.shape[-1] == whole.shape[-2]
        np.testing.assert_allclose(np.swapaxes(whole, -1, -2) @ whole, np.broadcast_to(np.eye(whole.shape[-1]), whole.shape), atol=1e-12)


def test_f32_stays_f32_and_is_right_to_its_rounding(matrix, square):
    single = matrix.astype("f4")
    u, s, vh = linalg.svd(wick.tensor(single))
    assert {u.dtype, s.dtype, vh.dtype} == {wick.float32}
    inner = s.shape[-1]
    np.testing.assert_allclose(s.numpy(), np.linalg.svd(single.astype("f8"), compute_uv=False), rtol=1e-5, atol=3e-6)
    np.testing.assert_allclose((u[..., :inner] * s.unsqueeze(-2) @ vh[..., :inner, :]).numpy(), single, atol=1e-5)
    symmetric = (square + np.swapaxes(square, -1, -2)).astype("f4")
    values, vectors = linalg.eigh(wick.tensor(symmetric))
    assert {values.dtype, vectors.dtype} == {wick.float32}
    np.testing.assert_allclose(values.numpy(), np.linalg.eigvalsh(symmetric.astype("f8")), rtol=1e-5, atol=3e-6)
    np.testing.assert_allclose((vectors * values.unsqueeze(-2) @ vectors.mT).numpy(), symmetric, atol=1e-5)


def test_svd_of_a_matrix_without_full_rank_is_whole():
    x = wick.tensor([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]], "f64")
    u, s, vh = linalg.svd(x)
    assert s.numpy()[1] < 1e-14 and linalg.matrix_rank(x).item() == 1
    np.testing.assert_allclose((u.mT @ u).numpy(), np.eye(3), atol=1e-12)
    np.testing.assert_allclose((u[:, :2] * s @ vh).numpy(), x.numpy(), atol=1e-12)


def test_qr_is_a_product_with_an_upper_triangle(matrix):
    for mode in ("reduced", "complete"):
        q, r = linalg.qr(wick.tensor(matrix), mode=mode)
        np.testing.assert_allclose((q @ r).numpy(), matrix, atol=1e-12)
        np.testing.assert_allclose((q.mT @ q).numpy(), np.broadcast_to(np.eye(q.shape[-1]), q.shape[:-2] + q.shape[-1:] * 2), atol=1e-12)
        assert not np.tril(r.numpy(), -1).any()


def test_inverses_ranks_and_norms_are_numpy_s(matrix):
    x = wick.tensor(matrix)
    np.testing.assert_allclose(linalg.pinv(x).numpy(), np.linalg.pinv(matrix), atol=1e-11)
    np.testing.assert_array_equal(linalg.matrix_rank(x).numpy(), np.linalg.matrix_rank(matrix))
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        np.testing.assert_allclose(linalg.matrix_norm(x, ord=order).numpy(), np.linalg.norm(matrix, ord=order, axis=(-2, -1)), atol=1e-12)
    for order in (2, 1, 0, 3.5, -2, np.inf, -np.inf):
        np.testing.assert_allclose(linalg.vector_norm(x, axis=-1, ord=order).numpy(), np.linalg.norm(matrix, ord=order, axis=-1), rtol=1e-12)


def test_square_matrices_are_solved_and_decomposed_as_by_numpy(square):
    x = wick.tensor(square)
    np.testing.assert_allclose(linalg.det(x).numpy(), np.linalg.det(square), rtol=1e-11)
    sign, size = np.linalg.slogdet(square)
    np.testing.assert_allclose(linalg.slogdet(x).sign.numpy(), sign)
    np.testing.assert_allclose(linalg.slogdet(x).logabsdet.numpy(), size, rtol=1e-10)
    np.testing.assert_allclose(linalg.inv(x).numpy(), np.linalg.inv(square), rtol=1e-8)
    right = np.arange(2.0 * square.shape[-1]).reshape(-1, 2)
    np.testing.assert_allclose(linalg.solve(x, wick.tensor(right)).numpy(), np.linalg.solve(square, right), rtol=1e-8)
    np.testing.assert_allclose(linalg.matrix_power(x, -2).numpy(), np.linalg.matrix_power(square, -2), rtol=1e-6)
    symmetric = square + np.swapaxes(square, -1, -2)
    values, vectors = linalg.eigh(wick.tensor(symmetric))
    np.testing.assert_allclose(values.numpy(), np.linalg.eigvalsh(symmetric), atol=1e-12)
    np.testing.assert_allclose(symmetric @ vectors.numpy(), vectors.numpy() * values.numpy()[..., None, :], atol=1e-12)
    positive = square @ np.swapaxes(square, -1, -2) + np.eye(square.shape[-1])
    np.testing.assert_allclose(linalg.cholesky(wick.tensor(positive)).numpy(), np.linalg.cholesky(positive), atol=1e-12)


def test_products_are_numpy_s():
    a, b = np.random.default_rng(9).standard_normal((2, 4, 3))
    x, y = wick.tensor(a), wick.tensor(b)
    np.testing.assert_allclose(linalg.cross(x, y).numpy(), np.cross(a, b))
    np.testing.assert_allclose(linalg.outer(x[0], y[0]).numpy(), np.outer(a[0], b[0]))
    for offset in (-2, 0, 1, 5):
        np.testing.assert_array_equal(linalg.diagonal(x, offset=offset).numpy(), np.diagonal(a, offset) if offset < 5 else [])
        np.testing.assert_allclose(linalg.trace(x, offset=offset).item(), np.trace(a, offset))


def test_results_have_the_operand_s_dtype():
    x = wick.tensor([[2.0, 1.0], [1.0, 3.0]])
    for made in (linalg.inv(x), linalg.cholesky(x), linalg.det(x), *linalg.svd(x), *linalg.qr(x), *linalg.eigh(x), linalg.vector_norm(x)):
        assert made.dtype == wick.float32


@pytest.mark.parametrize(("run", "kind", "word"), [
    (lambda: linalg.inv(wick.zeros((2, 2))), ValueError, "singular"),
    (lambda: linalg.inv(wick.zeros((2, 3))), ValueError, "not square"),
    (lambda: linalg.cholesky(wick.tensor([[1.0, 2.0], [2.0, 1.0]])), ValueError, "positive definite"),
    (lambda: linalg.svd(wick.tensor([[float("nan"), 2.0]])), ValueError, "NaN"),
    (lambda: linalg.det(wick.tensor([[1, 2], [3, 4]])), TypeError, "floating-point"),
    (lambda: linalg.solve(wick.zeros((2, 2)), wick.zeros((3, 1))), ValueError, "2 unknowns"),
    (lambda: linalg.cross(wick.zeros(2), wick.zeros(2)), ValueError, "not three"),
    (lambda: linalg.qr(wick.zeros((2, 2)), mode="full"), ValueError, "mode"),
    (lambda: linalg.matrix_norm(wick.zeros((2, 2)), ord=3), ValueError, "ord"),
])
def test_what_cannot_be_is_an_error_with_its_reason(run, kind, word):
    with pytest.raises(kind, match=word):
        run()
