#include "lapack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <type_traits>

#include "wick/base/dynlib.h"
#include "wick/base/fail.h"

namespace wick_python::lapack {
namespace {

// Fortran passes the lengths of strings after all other arguments.
template <class Int, class Number>
using Syevd = void(const char* job, const char* triangle, const Int* n, Number* a, const Int* lda, Number* w, Number* work,
                   const Int* lwork, Int* iwork, const Int* liwork, Int* info, size_t, size_t);
template <class Int, class Number>
using Gesdd = void(const char* job, const Int* m, const Int* n, Number* a, const Int* lda, Number* s, Number* u, const Int* ldu, Number* vt,
                   const Int* ldvt, Number* work, const Int* lwork, Int* iwork, Int* info, size_t);

// In the place of the length of the work memory: what it should be is asked for.
constexpr int kAsk = -1;

// An answer in f32 may have been rounded down: counts from 2²⁴ on have no exact f32.
template <class Number>
size_t work_size(Number answer) {
  return static_cast<size_t>(std::nextafter(answer, std::numeric_limits<Number>::max()));
}

template <class Int, class Number>
struct Functions {
  Syevd<Int, Number>* syevd = nullptr;
  Gesdd<Int, Number>* gesdd = nullptr;
};

// Of one width of integers.
template <class Int>
struct Interface {
  Functions<Int, float> f32;
  Functions<Int, double> f64;

  // Their names are <prefix>ssyevd<suffix> and so on.
  static Interface of(const wick::DynamicLibrary& library, const std::string& prefix, const std::string& suffix) {
    const auto find = [&]<class Function>(Function*& to, const std::string& name) {
      to = library.function<Function>((prefix + name + suffix).c_str());
    };
    Interface found;
    find(found.f32.syevd, "ssyevd");
    find(found.f32.gesdd, "sgesdd");
    find(found.f64.syevd, "dsyevd");
    find(found.f64.gesdd, "dgesdd");
    return found;
  }
  [[nodiscard]] bool whole() const { return f32.syevd != nullptr && f32.gesdd != nullptr && f64.syevd != nullptr && f64.gesdd != nullptr; }
  template <class Number>
  [[nodiscard]] const Functions<Int, Number>& of_number() const {
    if constexpr (std::is_same_v<Number, float>) {
      return f32;
    } else {
      return f64;
    }
  }
};

struct Library {
  std::shared_ptr<const wick::DynamicLibrary> library;
  Interface<int32_t> narrow;
  Interface<int64_t> wide;
};

std::mutex mutex;
Library opened;

Library current() {
  const std::lock_guard lock(mutex);
  return opened;
}

// Called under the mutex.
bool take(const std::string& name) try {
  Library found{std::make_shared<const wick::DynamicLibrary>(name), {}, {}};
  found.narrow = Interface<int32_t>::of(*found.library, "", "_");
  found.wide = Interface<int64_t>::of(*found.library, "scipy_", "_64_");
  if (!found.narrow.whole() && !found.wide.whole()) return false;
  opened = std::move(found);
  return true;
} catch (const wick::Error&) {
  return false;
}

// Calls body(the functions for this type of number), with the integers that they take.
template <class Number, class Body>
bool with_functions(const Body& body) {
  const Library library = current();
  return library.narrow.whole() ? body(library.narrow.template of_number<Number>()) : body(library.wide.template of_number<Number>());
}

template <class Number>
bool decompose_symmetric(int64_t n, std::span<Number> matrix, std::span<Number> values) {
  if (n == 0) return true;
  return with_functions<Number>([&]<class Int>(const Functions<Int, Number>& functions) {
    const Int extent = static_cast<Int>(n);
    Int info = 0, integers = 0;
    Number numbers = 0;
    // In LAPACK's order by columns the lower triangle is the upper one.
    const auto call = [&](Number* work, Int size, Int* integer_work, Int integer_size) {
      functions.syevd("V", "U", &extent, matrix.data(), &extent, values.data(), work, &size, integer_work, &integer_size, &info, 1, 1);
    };
    call(&numbers, kAsk, &integers, kAsk);
    std::vector<Number> work(work_size(numbers));
    std::vector<Int> integer_work(static_cast<size_t>(integers));
    call(work.data(), static_cast<Int>(work.size()), integer_work.data(), integers);
    return info == 0;
  });
}

template <class Number>
bool decompose_singular(int64_t m, int64_t n, bool full, std::span<Number> matrix, std::span<Number> u, std::span<Number> s,
                        std::span<Number> vh) {
  if (m == 0 || n == 0) return true;
  return with_functions<Number>([&]<class Int>(const Functions<Int, Number>& functions) {
    // By columns the matrix is its transpose [n, m] = V S Uᵀ, whose factors by rows are vh and u.
    const Int rows = static_cast<Int>(n), columns = static_cast<Int>(m), inner = std::min(rows, columns);
    const Int step = full ? columns : inner;
    std::vector<Int> integer_work(8 * static_cast<size_t>(inner));
    Int info = 0;
    Number numbers = 0;
    const auto call = [&](Number* work, Int size) {
      functions.gesdd(full ? "A" : "S", &rows, &columns, matrix.data(), &rows, s.data(), vh.data(), &rows, u.data(), &step, work, &size,
                      integer_work.data(), &info, 1);
    };
    call(&numbers, kAsk);
    std::vector<Number> work(work_size(numbers));
    call(work.data(), static_cast<Int>(work.size()));
    return info == 0;
  });
}

}  // namespace

std::optional<std::string> open(const std::vector<std::string>& names) {
  const std::lock_guard lock(mutex);
  opened = {};
  (void)std::any_of(names.begin(), names.end(), take);
  return opened.library == nullptr ? std::nullopt : std::optional(opened.library->name());
}

bool is_open() { return current().library != nullptr; }

bool eigh(int64_t n, std::span<float> matrix, std::span<float> values) { return decompose_symmetric(n, matrix, values); }
bool eigh(int64_t n, std::span<double> matrix, std::span<double> values) { return decompose_symmetric(n, matrix, values); }

bool svd(int64_t m, int64_t n, bool full, std::span<float> matrix, std::span<float> u, std::span<float> s, std::span<float> vh) {
  return decompose_singular(m, n, full, matrix, u, s, vh);
}
bool svd(int64_t m, int64_t n, bool full, std::span<double> matrix, std::span<double> u, std::span<double> s, std::span<double> vh) {
  return decompose_singular(m, n, full, matrix, u, s, vh);
}

}  // namespace wick_python::lapack
