// random: every bit of uniform numbers, and normals to the last places, from any place of the stream.
#include <fmt/format.h>

#include "conformance/case.h"
#include "wick/tensor/ops/dispatch.h"

namespace wick::conformance {
namespace {

void add(CaseList& list, DType dtype, const Shape& shape, const RandomParams& params, const std::string& note) {
  list.add(OpId::random, dtype, fmt::format("{}/{}", shape.to_string(), note), [=](Trial& trial) {
    const Tensor result = Tensor::empty(shape, dtype, trial.device());
    dispatch(OpId::random, &params, {}, {&result});
    // Logarithm, root, cosine and products err by a few ulps of f32 (f64), eight together, relative to the radius of at most 8.6.
    const Bound close = [](Inputs /*inputs*/, const ReferenceTensor& expected) {
      return std::vector<double>(expected.values.size(), 16 * 8.6 * roundoff(expected.dtype));
    };
    trial.expect(OpId::random, &params, {}, result, params.kind == RandomKind::normal ? close : Bound());
  });
}

}  // namespace

void add_random_cases(CaseList& list) {
  constexpr uint64_t kSeed = 0x123456789abcdef;
  for (const DType dtype : kFloatDTypes) {
    for (const int64_t count : {1, 2, 3, 4, 5, 31, 130, 2047, 2049, 70001}) {
      add(list, dtype, {count}, {RandomKind::uniform, 0, 1, kSeed, 0}, "unit");
      add(list, dtype, {count}, {RandomKind::normal, 0, 1, kSeed, 0}, "normal");
    }
    add(list, dtype, {3, 4, 5}, {RandomKind::uniform, -3, 5.5, kSeed, 4096}, "from -3 to 5.5");
    add(list, dtype, {999}, {RandomKind::uniform, 1, 1.25, 7, 8}, "from 1 to 1.25");
    // The counter's lower half wraps around.
    add(list, dtype, {300}, {RandomKind::uniform, 0, 1, kSeed, (uint64_t{1} << 34) - 100}, "over 2^32 blocks");
  }
}

}  // namespace wick::conformance
