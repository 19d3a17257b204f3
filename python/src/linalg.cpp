// Decompositions of matrices, on the host: what wick.array_api.linalg is made of. Each takes f64 [..., m, n]. eigh and svd take f32, too,
// and are LAPACK's where a library was found (lapack.h).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

#include "array.h"
#include "lapack.h"
#include "wick/tensor/dtype_of.h"

namespace wick_python {
namespace {

constexpr int kMaxSweeps = 60;

// Row-major.
template <class Number>
struct MatrixOf {
  int64_t rows = 0, columns = 0;
  std::vector<Number> values;

  MatrixOf(int64_t m, int64_t n) : rows(m), columns(n), values(static_cast<size_t>(m * n)) {}
  Number& operator()(int64_t row, int64_t column) { return values[static_cast<size_t>(row * columns + column)]; }
  Number operator()(int64_t row, int64_t column) const { return values[static_cast<size_t>(row * columns + column)]; }

  static MatrixOf identity(int64_t n) {
    MatrixOf made(n, n);
    for (int64_t i = 0; i < n; ++i) made(i, i) = 1;
    return made;
  }
  [[nodiscard]] MatrixOf transposed() const {
    MatrixOf made(columns, rows);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) made(j, i) = (*this)(i, j);
    }
    return made;
  }
  [[nodiscard]] MatrixOf left(int64_t count) const {
    MatrixOf made(rows, count);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < count; ++j) made(i, j) = (*this)(i, j);
    }
    return made;
  }
  [[nodiscard]] Number largest() const {
    Number most = 0;
    for (const Number value : values) most = std::max(most, std::abs(value));
    return most;
  }
};

using Matrix = MatrixOf<double>;

// The matrices of a tensor, one after another.
template <class Number>
class StackOf {
 public:
  static constexpr DType kDtype = wick::DTypeOf<Number>::value;

  StackOf(const Array& array, const char* function) : shape_(array.t.shape()) {
    if (array.t.dtype() != kDtype || shape_.rank() < 2) {
      throw nb::value_error(
          (std::string(function) + ": expected " + std::string(wick::to_string(kDtype)) + " with two dimensions or more").c_str());
    }
    rows_ = shape_[shape_.rank() - 2];
    columns_ = shape_[shape_.rank() - 1];
    values_ = array.t.detach().to_device(Device::cpu()).contiguous().to_vector<Number>();
  }

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] int64_t columns() const { return columns_; }
  [[nodiscard]] int64_t count() const {
    int64_t made = 1;
    for (int d = 0; d + 2 < shape_.rank(); ++d) made *= shape_[d];
    return made;
  }
  [[nodiscard]] MatrixOf<Number> at(int64_t index) const {
    MatrixOf<Number> made(rows_, columns_);
    const auto first = values_.begin() + index * rows_ * columns_;
    std::copy(first, first + rows_ * columns_, made.values.begin());
    return made;
  }
  void need_square(const char* function) const {
    if (rows_ == columns_) return;
    throw nb::value_error(
        (std::string(function) + ": a matrix of " + std::to_string(rows_) + " × " + std::to_string(columns_) + " is not square").c_str());
  }
  void need_finite(const char* function) const {
    if (std::ranges::all_of(values_, [](Number value) { return std::isfinite(value); })) return;
    throw nb::value_error((std::string(function) + ": a matrix has NaN or infinity").c_str());
  }
  // A tensor of what was made of each matrix, one after another, with these dimensions behind those of the stack.
  [[nodiscard]] Array collect(std::vector<Number> made, std::initializer_list<int64_t> dims) const {
    std::vector<int64_t> extents;
    for (int d = 0; d + 2 < shape_.rank(); ++d) extents.push_back(shape_[d]);
    extents.insert(extents.end(), dims);
    return {Tensor::from_vector(std::move(made), Shape(std::span<const int64_t>(extents)), Device::cpu())};
  }

 private:
  Shape shape_;
  int64_t rows_ = 0, columns_ = 0;
  std::vector<Number> values_;
};

using Stack = StackOf<double>;

template <class Number>
void append(std::vector<Number>& to, const MatrixOf<Number>& matrix) {
  to.insert(to.end(), matrix.values.begin(), matrix.values.end());
}

// The lower triangle, whose product with its transpose is the matrix.
void factor_cholesky(Matrix& a) {
  for (int64_t j = 0; j < a.columns; ++j) {
    for (int64_t i = 0; i < j; ++i) a(i, j) = 0;
    for (int64_t i = j; i < a.rows; ++i) {
      double sum = a(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= a(i, k) * a(j, k);
      if (i == j) {
        if (!(sum > 0)) throw nb::value_error("cholesky: a matrix is not positive definite");
        a(j, j) = std::sqrt(sum);
      } else {
        a(i, j) = sum / a(j, j);
      }
    }
  }
}

// Gauss with the largest pivot of each column; `b`'s rows go along. The sign of the permutation.
double eliminate(Matrix& a, Matrix& b) {
  double sign = 1;
  for (int64_t j = 0; j < a.columns; ++j) {
    int64_t pivot = j;
    for (int64_t i = j + 1; i < a.rows; ++i) {
      if (std::abs(a(i, j)) > std::abs(a(pivot, j))) pivot = i;
    }
    if (pivot != j) {
      sign = -sign;
      for (int64_t k = 0; k < a.columns; ++k) std::swap(a(j, k), a(pivot, k));
      for (int64_t k = 0; k < b.columns; ++k) std::swap(b(j, k), b(pivot, k));
    }
    if (a(j, j) == 0) continue;
    for (int64_t i = j + 1; i < a.rows; ++i) {
      const double factor = a(i, j) / a(j, j);
      for (int64_t k = j; k < a.columns; ++k) a(i, k) -= factor * a(j, k);
      for (int64_t k = 0; k < b.columns; ++k) b(i, k) -= factor * b(j, k);
    }
  }
  return sign;
}

void substitute_back(const Matrix& upper, Matrix& b) {
  for (int64_t i = upper.rows - 1; i >= 0; --i) {
    if (upper(i, i) == 0) throw nb::value_error("solve: a matrix is singular");
    for (int64_t k = 0; k < b.columns; ++k) {
      double sum = b(i, k);
      for (int64_t j = i + 1; j < upper.columns; ++j) sum -= upper(i, j) * b(j, k);
      b(i, k) = sum / upper(i, i);
    }
  }
}

// Householder's reflections: `r` becomes the upper triangle, the result the product of the reflections.
Matrix factor_qr(Matrix& r) {
  Matrix q = Matrix::identity(r.rows);
  std::vector<double> v(static_cast<size_t>(r.rows));
  for (int64_t j = 0; j < std::min(r.rows - 1, r.columns); ++j) {
    double length = 0;
    for (int64_t i = j; i < r.rows; ++i) length = std::hypot(length, r(i, j));
    if (length == 0) continue;
    double norm = 0;
    for (int64_t i = j; i < r.rows; ++i) {
      v[static_cast<size_t>(i)] = r(i, j) / length + (i == j ? std::copysign(1.0, r(j, j)) : 0);
      norm += v[static_cast<size_t>(i)] * v[static_cast<size_t>(i)];
    }
    for (int64_t k = 0; k < r.columns; ++k) {
      double product = 0;
      for (int64_t i = j; i < r.rows; ++i) product += v[static_cast<size_t>(i)] * r(i, k);
      for (int64_t i = j; i < r.rows; ++i) r(i, k) -= 2 * product / norm * v[static_cast<size_t>(i)];
    }
    for (int64_t i = j + 1; i < r.rows; ++i) r(i, j) = 0;
    for (int64_t k = 0; k < q.rows; ++k) {
      double product = 0;
      for (int64_t i = j; i < r.rows; ++i) product += v[static_cast<size_t>(i)] * q(k, i);
      for (int64_t i = j; i < r.rows; ++i) q(k, i) -= 2 * product / norm * v[static_cast<size_t>(i)];
    }
  }
  return q;
}

struct Rotation {
  double c = 1, s = 0;
};

// That makes [[app, apq], [apq, aqq]] diagonal (Golub and Van Loan, 8.5.2).
Rotation jacobi_rotation(double app, double aqq, double apq) {
  const double tau = (aqq - app) / (2 * apq);
  const double t = std::copysign(1.0, tau) / (std::abs(tau) + std::hypot(1.0, tau));
  const double c = 1 / std::hypot(1.0, t);
  return {c, t * c};
}

void rotate_columns(Matrix& m, int64_t p, int64_t q, const Rotation& by) {
  for (int64_t i = 0; i < m.rows; ++i) {
    const double left = m(i, p), right = m(i, q);
    m(i, p) = by.c * left - by.s * right;
    m(i, q) = by.s * left + by.c * right;
  }
}

void rotate_rows(Matrix& m, int64_t p, int64_t q, const Rotation& by) {
  for (int64_t j = 0; j < m.columns; ++j) {
    const double upper = m(p, j), lower = m(q, j);
    m(p, j) = by.c * upper - by.s * lower;
    m(q, j) = by.s * upper + by.c * lower;
  }
}

// Jacobi's sweeps over the lower triangle: the diagonal becomes the eigenvalues, the result has the vectors as columns.
Matrix diagonalize(Matrix& a) {
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = i + 1; j < a.columns; ++j) a(i, j) = a(j, i);
  }
  Matrix v = Matrix::identity(a.rows);
  bool moved = true;
  for (int sweep = 0; moved && sweep < kMaxSweeps; ++sweep) {
    moved = false;
    for (int64_t p = 0; p < a.rows; ++p) {
      for (int64_t q = p + 1; q < a.rows; ++q) {
        if (std::abs(a(p, q)) <= std::numeric_limits<double>::epsilon() * 1e-2 * std::sqrt(std::abs(a(p, p) * a(q, q)))) continue;
        if (std::abs(a(p, q)) < std::numeric_limits<double>::min()) continue;
        moved = true;
        const Rotation by = jacobi_rotation(a(p, p), a(q, q), a(p, q));
        rotate_columns(a, p, q, by);
        rotate_rows(a, p, q, by);
        rotate_columns(v, p, q, by);
        a(p, q) = a(q, p) = 0;
      }
    }
  }
  return v;
}

// Columns in that order.
Matrix with_columns(const Matrix& m, const std::vector<int64_t>& order) {
  Matrix made(m.rows, std::ssize(order));
  for (int64_t i = 0; i < m.rows; ++i) {
    for (int64_t j = 0; j < made.columns; ++j) made(i, j) = m(i, order[static_cast<size_t>(j)]);
  }
  return made;
}

// Fills the columns of `u` from `first` on with unit vectors that are orthogonal to all before them.
void complete_columns(Matrix& u, int64_t first) {
  int64_t axis = 0;
  for (int64_t column = first; column < u.columns; ++column) {
    double length = 0;
    do {
      for (int64_t i = 0; i < u.rows; ++i) u(i, column) = i == axis ? 1 : 0;
      ++axis;
      for (int pass = 0; pass < 2; ++pass) {
        for (int64_t other = 0; other < column; ++other) {
          double product = 0;
          for (int64_t i = 0; i < u.rows; ++i) product += u(i, other) * u(i, column);
          for (int64_t i = 0; i < u.rows; ++i) u(i, column) -= product * u(i, other);
        }
      }
      length = 0;
      for (int64_t i = 0; i < u.rows; ++i) length = std::hypot(length, u(i, column));
    } while (length * length < 0.5 / static_cast<double>(u.rows) && axis < u.rows);
    for (int64_t i = 0; i < u.rows; ++i) u(i, column) /= length;
  }
}

struct Singular {
  Matrix u, v;  // v's columns are the right vectors
  std::vector<double> s;
};

// Hestenes' one-sided Jacobi: columns are rotated until they are orthogonal; of a matrix with rows >= columns. `full`: u is square.
Singular decompose_tall(Matrix a, bool full) {
  const double scale = a.largest();
  if (scale > 0) {
    for (double& value : a.values) value /= scale;
  }
  Matrix v = Matrix::identity(a.columns);
  bool moved = true;
  for (int sweep = 0; moved && sweep < kMaxSweeps; ++sweep) {
    moved = false;
    for (int64_t p = 0; p < a.columns; ++p) {
      for (int64_t q = p + 1; q < a.columns; ++q) {
        double pp = 0, qq = 0, pq = 0;
        for (int64_t i = 0; i < a.rows; ++i) {
          pp += a(i, p) * a(i, p);
          qq += a(i, q) * a(i, q);
          pq += a(i, p) * a(i, q);
        }
        if (!(std::abs(pq) > 1e-15 * std::sqrt(pp * qq)) || std::abs(pq) < std::numeric_limits<double>::min()) continue;
        moved = true;
        const Rotation by = jacobi_rotation(pp, qq, pq);
        rotate_columns(a, p, q, by);
        rotate_columns(v, p, q, by);
      }
    }
  }
  std::vector<double> lengths(static_cast<size_t>(a.columns));
  for (int64_t j = 0; j < a.columns; ++j) {
    for (int64_t i = 0; i < a.rows; ++i) lengths[static_cast<size_t>(j)] = std::hypot(lengths[static_cast<size_t>(j)], a(i, j));
  }
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](int64_t j) { return lengths[static_cast<size_t>(j)]; });
  Singular made{Matrix(a.rows, full ? a.rows : a.columns), with_columns(v, order), {}};
  int64_t rank = 0;
  for (const int64_t j : order) {
    const double length = lengths[static_cast<size_t>(j)];
    made.s.push_back(length * (scale > 0 ? scale : 1));
    // A column that is rounding alone has no direction.
    if (!(length > lengths[static_cast<size_t>(order.front())] * 1e-15)) continue;
    for (int64_t i = 0; i < a.rows; ++i) made.u(i, rank) = a(i, j) / length;
    ++rank;
  }
  complete_columns(made.u, rank);
  return made;
}

Array cholesky(const Array& x) {
  const Stack stack(x, "cholesky");
  stack.need_square("cholesky");
  std::vector<double> made;
  for (int64_t index = 0; index < stack.count(); ++index) {
    Matrix a = stack.at(index);
    factor_cholesky(a);
    append(made, a);
  }
  return stack.collect(std::move(made), {stack.rows(), stack.columns()});
}

// Both have the same stacks.
Array solve(const Array& x, const Array& right) {
  const Stack stack(x, "solve"), rights(right, "solve");
  stack.need_square("solve");
  if (stack.count() != rights.count() || stack.rows() != rights.rows()) throw nb::value_error("solve: the shapes do not fit together");
  std::vector<double> made;
  for (int64_t index = 0; index < stack.count(); ++index) {
    Matrix a = stack.at(index), b = rights.at(index);
    (void)eliminate(a, b);
    substitute_back(a, b);
    append(made, b);
  }
  return rights.collect(std::move(made), {rights.rows(), rights.columns()});
}

// The determinant, its sign, and the logarithm of its size.
std::tuple<Array, Array, Array> determinant(const Array& x) {
  const Stack stack(x, "det");
  stack.need_square("det");
  std::vector<double> determinants, signs, logarithms;
  for (int64_t index = 0; index < stack.count(); ++index) {
    Matrix a = stack.at(index), none(stack.rows(), 0);
    double sign = eliminate(a, none), product = sign, logarithm = 0;
    for (int64_t i = 0; i < a.rows; ++i) {
      product *= a(i, i);
      logarithm += std::log(std::abs(a(i, i)));
      sign = sign * (a(i, i) > 0 ? 1 : a(i, i) < 0 ? -1 : a(i, i)) + 0.0;  // no -0
    }
    determinants.push_back(product);
    signs.push_back(sign);
    logarithms.push_back(logarithm);
  }
  return {stack.collect(std::move(determinants), {}), stack.collect(std::move(signs), {}), stack.collect(std::move(logarithms), {})};
}

std::tuple<Array, Array> qr(const Array& x, bool complete) {
  const Stack stack(x, "qr");
  const int64_t inner = complete ? stack.rows() : std::min(stack.rows(), stack.columns());
  std::vector<double> left, right;
  for (int64_t index = 0; index < stack.count(); ++index) {
    Matrix r = stack.at(index);
    append(left, factor_qr(r).left(inner));
    right.insert(right.end(), r.values.begin(), r.values.begin() + inner * r.columns);
  }
  return {stack.collect(std::move(left), {stack.rows(), inner}), stack.collect(std::move(right), {inner, stack.columns()})};
}

template <class Number>
std::tuple<Array, Array> eigh_by_lapack(const Array& x) {
  const StackOf<Number> stack(x, "eigh");
  stack.need_square("eigh");
  stack.need_finite("eigh");
  std::vector<Number> numbers, vectors;
  for (int64_t index = 0; index < stack.count(); ++index) {
    MatrixOf<Number> a = stack.at(index);
    std::vector<Number> values(static_cast<size_t>(a.rows));
    if (!lapack::eigh(a.rows, a.values, values)) throw nb::value_error("eigh: LAPACK's iteration did not converge");
    numbers.insert(numbers.end(), values.begin(), values.end());
    append(vectors, a.transposed());
  }
  return {stack.collect(std::move(numbers), {stack.rows()}), stack.collect(std::move(vectors), {stack.rows(), stack.rows()})};
}

std::tuple<Array, Array> eigh(const Array& x) {
  if (lapack::is_open()) return x.t.dtype() == DType::f32 ? eigh_by_lapack<float>(x) : eigh_by_lapack<double>(x);
  const Stack stack({x.t.to_dtype(DType::f64)}, "eigh");
  stack.need_square("eigh");
  stack.need_finite("eigh");
  std::vector<double> numbers, vectors;
  for (int64_t index = 0; index < stack.count(); ++index) {
    Matrix a = stack.at(index);
    const double scale = a.largest();
    if (scale > 0) {
      for (double& value : a.values) value /= scale;
    }
    const Matrix v = diagonalize(a);
    std::vector<int64_t> order(static_cast<size_t>(a.rows));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::less{}, [&](int64_t i) { return a(i, i); });
    for (const int64_t i : order) numbers.push_back(a(i, i) * (scale > 0 ? scale : 1));
    append(vectors, with_columns(v, order));
  }
  return {stack.collect(std::move(numbers), {stack.rows()}), stack.collect(std::move(vectors), {stack.rows(), stack.rows()})};
}

template <class Number>
std::tuple<Array, Array, Array> svd_by_lapack(const Array& x, bool full) {
  const StackOf<Number> stack(x, "svd");
  stack.need_finite("svd");
  const int64_t m = stack.rows(), n = stack.columns(), inner = std::min(m, n);
  std::vector<Number> left, sizes, right;
  for (int64_t index = 0; index < stack.count(); ++index) {
    MatrixOf<Number> a = stack.at(index), u(m, full ? m : inner), vh(full ? n : inner, n);
    std::vector<Number> s(static_cast<size_t>(inner));
    if (inner == 0) {  // LAPACK leaves them as they are
      u = MatrixOf<Number>::identity(m).left(u.columns);
      vh = MatrixOf<Number>::identity(n).left(vh.rows).transposed();
    }
    if (!lapack::svd(m, n, full, a.values, u.values, s, vh.values)) throw nb::value_error("svd: LAPACK's iteration did not converge");
    append(left, u);
    append(right, vh);
    sizes.insert(sizes.end(), s.begin(), s.end());
  }
  return {stack.collect(std::move(left), {m, full ? m : inner}), stack.collect(std::move(sizes), {inner}),
          stack.collect(std::move(right), {full ? n : inner, n})};
}

// U, the singular values by falling size, and the transpose of V.
std::tuple<Array, Array, Array> svd(const Array& x, bool full) {
  if (lapack::is_open()) return x.t.dtype() == DType::f32 ? svd_by_lapack<float>(x, full) : svd_by_lapack<double>(x, full);
  const Stack stack({x.t.to_dtype(DType::f64)}, "svd");
  stack.need_finite("svd");
  const bool wide = stack.columns() > stack.rows();
  const int64_t inner = std::min(stack.rows(), stack.columns());
  std::vector<double> left, sizes, right;
  for (int64_t index = 0; index < stack.count(); ++index) {
    const Matrix a = stack.at(index);
    const Singular made = decompose_tall(wide ? a.transposed() : a, full);
    append(left, wide ? made.v : made.u);
    append(right, (wide ? made.u : made.v).transposed());
    sizes.insert(sizes.end(), made.s.begin(), made.s.end());
  }
  return {stack.collect(std::move(left), {stack.rows(), full ? stack.rows() : inner}), stack.collect(std::move(sizes), {inner}),
          stack.collect(std::move(right), {full ? stack.columns() : inner, stack.columns()})};
}

}  // namespace

void bind_linalg(nb::module_& module) {
  module.def("_open_lapack", &lapack::open, nb::arg("names"));
  module.def("_cholesky", [](const Array& x) { return unlocked([&] { return cholesky(x); }); }, nb::arg("x"));
  module.def("_solve", [](const Array& x, const Array& b) { return unlocked([&] { return solve(x, b); }); }, nb::arg("x"), nb::arg("b"));
  module.def("_determinant", [](const Array& x) { return unlocked([&] { return determinant(x); }); }, nb::arg("x"));
  module.def(
      "_qr", [](const Array& x, bool complete) { return unlocked([&] { return qr(x, complete); }); }, nb::arg("x"), nb::arg("complete"));
  module.def("_eigh", [](const Array& x) { return unlocked([&] { return eigh(x); }); }, nb::arg("x"));
  module.def("_svd", [](const Array& x, bool full) { return unlocked([&] { return svd(x, full); }); }, nb::arg("x"), nb::arg("full"));
}

}  // namespace wick_python
