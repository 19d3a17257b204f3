// The architectures that synthetic models can have, and the tensors of each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wick/convert/synthetic.h"
#include "wick/formats/gguf_writer.h"
#include "wick/layout/dtype.h"

namespace wick {

// A matrix that is to be written, or a stack of them.
struct PlannedTensor {
  std::string name;
  DType dtype;
  int64_t rows;
  int64_t columns;
  int64_t stack = 1;  // how many; more than 1: [stack, rows, columns]

  [[nodiscard]] int64_t all_rows() const noexcept { return stack * rows; }
};

// A vector of equal numbers, such as a norm's ones, in f32.
struct PlannedVector {
  std::string name;
  int64_t width;
  float value = 1;
  bool is_column = false;  // [width, 1]
};

struct SyntheticPlan {
  std::vector<PlannedTensor> matrices;
  std::vector<PlannedVector> vectors;
};

// Names of wick synth --arch, such as "qwen3-moe".
[[nodiscard]] std::vector<std::string> synthetic_architectures();
// general.architecture, such as "qwen3moe". Errors: unsupported for a name that is none of synthetic_architectures().
[[nodiscard]] std::string_view gguf_architecture_of(std::string_view name);
// The architecture's variant of a named shape such as "1b"; other shapes get the sizes that six numbers leave out.
[[nodiscard]] SyntheticShape shape_of_architecture(const SyntheticShape& shape, std::string_view name);
// The matrices have `dtype`, but for those that are small and f32 in published files.
[[nodiscard]] SyntheticPlan plan_synthetic(const SyntheticShape& shape, std::string_view name, DType dtype);
// The keys of attention, states and experts.
void add_synthetic_keys(GgufWriter& writer, const SyntheticShape& shape, std::string_view name);

}  // namespace wick
