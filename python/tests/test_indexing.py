"""Indexing, compared with NumPy."""
import numpy as np
import pytest

import wick

X = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
MASK = X[..., 0] % 3 == 0

INDICES = [
    0, -1, (0, 1), (0, 1, 2, 3), (), ..., None,
    slice(None), slice(1, None), slice(None, None, -1), slice(None, None, 2), slice(5, 1), slice(-100, 100),
    (slice(None), slice(2, 0, -1)), (slice(None), slice(None), slice(3, None, -2), slice(None, None, 3)),
    (..., 0), (0, ...), (0, ..., 1), (..., None), (None, ..., None), (slice(None), None, 1), (..., slice(None, None, -1)),
    [1, 0, 1], (slice(None), [2, 0]), ([0, 1], [1, 2]), ([0, 1], slice(None), [1, 2]), (slice(None), [0, 1], [1, 2]),
    (slice(None), [0, 1], slice(None), [1, 2]), ([[0, 1], [1, 0]], [2, 1]), (0, [1, 2]), (0, slice(None), [1, 2]),
    (slice(None), 1, [1, 2]), ([-1, -2],), (..., [0, -1]), (None, [1, 0]), ([1, 0], None, [1, 2]),
    np.array([1, 0]), np.array([True, False]), (slice(None), np.array([True, False, True])), MASK, X > 40,
    (0, np.array([True, False, True])), (np.array([True, True]), [2, 1]), [], (slice(None), []), np.int64(1), True, False,
    np.zeros((2, 0), dtype=np.int64),
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_reading_gives_what_numpy_gives(index):
    np.testing.assert_array_equal(wick.tensor(X)[index].numpy(), X[index])


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_writing_writes_where_numpy_writes(index):
    expected = X.copy()
    got = wick.tensor(X)
    expected[index] = -1
    got[index] = -1
    np.testing.assert_array_equal(got.numpy(), expected)
    values = np.random.default_rng(0).standard_normal(X[index].shape).astype(np.float32)
    expected[index] = values
    got[index] = values
    if not (isinstance(index, tuple) and any(isinstance(i, list) for i in index)):
        np.testing.assert_array_equal(got.numpy(), expected)


@pytest.mark.parametrize("index", [2, -3, (0, 3), ([0, 2],), (0, 0, 0, 0, 0), ([5],), (..., ...), 1.5, "a", np.array([True, False, True])],
                         ids=repr)
def test_an_index_that_cannot_be_is_an_index_error(index):
    with pytest.raises(IndexError):
        wick.tensor(X)[index]


def test_random_indices_agree_with_numpy():
    rng = np.random.default_rng(7)
    x = wick.tensor(X)
    for _ in range(500):
        index = []
        for extent in X.shape[: rng.integers(1, 5)]:
            kind = rng.integers(5)
            if kind == 0:
                index.append(int(rng.integers(-extent, extent)))
            elif kind == 1:
                bounds = [None if rng.integers(2) else int(rng.integers(-extent - 1, extent + 2)) for _ in range(2)]
                step = int(rng.choice([-3, -2, -1, 1, 2, 3]))
                index.append(slice(*bounds, step))
            elif kind == 2:
                index.append(rng.integers(-extent, extent, size=(2,)))
            elif kind == 3:
                index.append(slice(None))
            else:
                index.extend([None, slice(None)])
        index = tuple(index)
        np.testing.assert_array_equal(x[index].numpy(), X[index], err_msg=repr(index))


def test_views_share_elements():
    x = wick.zeros((2, 3))
    x[0, 1:] = wick.tensor([1.0, 2.0])
    x[1][...] = 5
    assert x.tolist() == [[0, 1, 2], [5, 5, 5]]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "i4", "i8", "u1"])
@pytest.mark.parametrize("shape", [(1,), (7, 13), (3000,), (2, 3, 5), (4, 700)], ids=str)
def test_masks_places_and_medians_are_numpy_s(shape, dtype):
    values = np.random.default_rng(5).integers(0, 50, shape).astype(dtype)
    x, mask = wick.from_numpy(values), values % 3 == 0
    np.testing.assert_array_equal(x[wick.from_numpy(mask)].numpy(), values[mask])
    np.testing.assert_array_equal(wick.from_numpy(mask).nonzero().numpy(), np.argwhere(mask))
    np.testing.assert_array_equal(x.T.nonzero().numpy(), np.argwhere(values.T))
    for dim, extent in enumerate(shape):
        middle, place = x.median(dim)
        np.testing.assert_array_equal(middle.numpy(), np.sort(values, dim).take((extent - 1) // 2, dim))
        np.testing.assert_array_equal(np.take_along_axis(values, np.expand_dims(place.numpy(), dim), dim).squeeze(dim), middle.numpy())
    assert x.median().item() == np.sort(values, None)[(values.size - 1) // 2]


def test_the_median_of_numbers_with_nan_is_the_first_nan():
    for length in (5, 2000):
        values = np.arange(length, dtype="f4")
        values[[2, 4]] = np.nan
        middle, place = wick.from_numpy(values).median(0)
        assert np.isnan(middle.item()) and place.item() == 2
