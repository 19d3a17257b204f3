#include "lapack.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "wick/base/dynlib.h"
#include "wick/base/fail.h"

namespace wick_python::lapack {
namespace {

// Fortran passes the lengths of strings after all other arguments.
template <class Int>
using Syevd = void(const char* job, const char* triangle, const Int* n, double* a, const Int* lda, double* w, double* work,
                   const Int* lwork, Int* iwork, const Int* liwork, Int* info, size_t, size_t);
template <class Int>
using Gesdd = void(const char* job, const Int* m, const Int* n, double* a, const Int* lda, double* s, double* u, const Int* ldu, double* vt,
                   const Int* ldvt, double* work, const Int* lwork, Int* iwork, Int* info, size_t);

// In the place of the length of the work memory: what it should be is asked for.
constexpr int kAsk = -1;

template <class Int>
struct Functions {
  Syevd<Int>* syevd = nullptr;
  Gesdd<Int>* gesdd = nullptr;
  [[nodiscard]] bool whole() const { return syevd != nullptr && gesdd != nullptr; }
};

struct Library {
  std::shared_ptr<const wick::DynamicLibrary> library;
  Functions<int32_t> narrow;
  Functions<int64_t> wide;
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
  found.narrow = {found.library->function<Syevd<int32_t>>("dsyevd_"), found.library->function<Gesdd<int32_t>>("dgesdd_")};
  found.wide = {found.library->function<Syevd<int64_t>>("scipy_dsyevd_64_"), found.library->function<Gesdd<int64_t>>("scipy_dgesdd_64_")};
  if (!found.narrow.whole() && !found.wide.whole()) return false;
  opened = std::move(found);
  return true;
} catch (const wick::Error&) {
  return false;
}

// Calls body(the functions), with the integers that they take.
template <class Body>
bool with_functions(const Body& body) {
  const Library library = current();
  return library.narrow.whole() ? body(library.narrow) : body(library.wide);
}

}  // namespace

std::optional<std::string> open(const std::vector<std::string>& names) {
  const std::lock_guard lock(mutex);
  opened = {};
  (void)std::any_of(names.begin(), names.end(), take);
  return opened.library == nullptr ? std::nullopt : std::optional(opened.library->name());
}

bool is_open() { return current().library != nullptr; }

bool eigh(int64_t n, std::span<double> matrix, std::span<double> values) {
  if (n == 0) return true;
  return with_functions([&]<class Int>(const Functions<Int>& functions) {
    const Int extent = static_cast<Int>(n);
    Int info = 0, integers = 0;
    double numbers = 0;
    // In LAPACK's order by columns the lower triangle is the upper one.
    const auto call = [&](double* work, Int size, Int* integer_work, Int integer_size) {
      functions.syevd("V", "U", &extent, matrix.data(), &extent, values.data(), work, &size, integer_work, &integer_size, &info, 1, 1);
    };
    call(&numbers, kAsk, &integers, kAsk);
    std::vector<double> work(static_cast<size_t>(numbers));
    std::vector<Int> integer_work(static_cast<size_t>(integers));
    call(work.data(), static_cast<Int>(work.size()), integer_work.data(), integers);
    return info == 0;
  });
}

bool svd(int64_t m, int64_t n, bool full, std::span<double> matrix, std::span<double> u, std::span<double> s, std::span<double> vh) {
  if (m == 0 || n == 0) return true;
  return with_functions([&]<class Int>(const Functions<Int>& functions) {
    // By columns the matrix is its transpose [n, m] = V S Uᵀ, whose factors by rows are vh and u.
    const Int rows = static_cast<Int>(n), columns = static_cast<Int>(m), inner = std::min(rows, columns);
    const Int step = full ? columns : inner;
    std::vector<Int> integer_work(8 * static_cast<size_t>(inner));
    Int info = 0;
    double numbers = 0;
    const auto call = [&](double* work, Int size) {
      functions.gesdd(full ? "A" : "S", &rows, &columns, matrix.data(), &rows, s.data(), vh.data(), &rows, u.data(), &step, work, &size,
                      integer_work.data(), &info, 1);
    };
    call(&numbers, kAsk);
    std::vector<double> work(static_cast<size_t>(numbers));
    call(work.data(), static_cast<Int>(work.size()));
    return info == 0;
  });
}

}  // namespace wick_python::lapack
