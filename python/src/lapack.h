// LAPACK's decompositions in f32 and f64, where a library that has them is found while the program runs: nothing links one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wick_python::lapack {

// Opens the first of these libraries that has the decompositions, in the place of the one before: names or paths, of LAPACK with 32-bit
// integers or of OpenBLAS as NumPy has it, with 64-bit integers. Returns its name; nothing where none is there.
std::optional<std::string> open(const std::vector<std::string>& names);
// Whether one is open.
[[nodiscard]] bool is_open();

// Of a row-major symmetric matrix [n, n], of which the lower triangle is read: eigenvalues from the least on; its rows become the vectors.
// Returns whether the iteration converged.
bool eigh(int64_t n, std::span<float> matrix, std::span<float> values);
bool eigh(int64_t n, std::span<double> matrix, std::span<double> values);

// Of a row-major matrix [m, n], which is overwritten, with k = min(m, n): u [m, k], s [k] and vh [k, n]; u [m, m] and vh [n, n] if `full`.
// Returns whether the iteration converged.
bool svd(int64_t m, int64_t n, bool full, std::span<float> matrix, std::span<float> u, std::span<float> s, std::span<float> vh);
bool svd(int64_t m, int64_t n, bool full, std::span<double> matrix, std::span<double> u, std::span<double> s, std::span<double> vh);

}  // namespace wick_python::lapack
