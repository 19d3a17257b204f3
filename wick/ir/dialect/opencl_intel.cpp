// OpenCL C for Intel's compiler: products of bytes by its own function, as older ones know no cl_khr_integer_dot_product.
#include <algorithm>
#include <vector>

#include "wick/ir/dialect/dialect.h"
#include "wick/ir/dialect/spellings.h"

namespace wick::ir {
namespace {

constexpr std::array kOwn{
    Spelling{Op::dot4, any(), "__builtin_IB_dp4a_ss($2, as_int($0), as_int($1))"},
};
constexpr Preamble kDot4{Feature::dot4, "int __builtin_IB_dp4a_ss(int c, int a, int b) __attribute__((const));\n"};

Dialect make() {
  Dialect d = opencl_dialect();
  d.name = "OpenCL C for Intel";
  static const std::vector<Spelling> spellings = own_before(kOwn, opencl_dialect().spellings);
  static const std::vector<Preamble> preambles = [] {
    std::vector<Preamble> all(opencl_dialect().preambles.begin(), opencl_dialect().preambles.end());
    std::replace_if(all.begin(), all.end(), [](const Preamble& preamble) { return preamble.feature == Feature::dot4; }, kDot4);
    return all;
  }();
  d.spellings = spellings;
  d.preambles = preambles;
  return d;
}

}  // namespace

const Dialect& opencl_intel_dialect() {
  static const Dialect dialect = make();
  return dialect;
}

}  // namespace wick::ir
