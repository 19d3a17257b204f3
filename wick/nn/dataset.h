// A Dataset holds examples with their targets; a DataLoader cuts it into batches, shuffled for each pass if asked.
//
//   for (const nn::Batch& batch : nn::DataLoader(data, {.batch_size = 64, .shuffle = true}).batches()) …
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

struct Batch {
  Tensor inputs;
  Tensor targets;
};

// All examples in memory: example i is slice i of both tensors.
class Dataset {
 public:
  // Errors: shape_mismatch if the first dimensions differ, or one has none.
  Dataset(Tensor inputs, Tensor targets, std::vector<std::string> classes = {});

  [[nodiscard]] int64_t size() const { return inputs_.dims()[0]; }
  [[nodiscard]] const Tensor& inputs() const noexcept { return inputs_; }
  [[nodiscard]] const Tensor& targets() const noexcept { return targets_; }
  // The names of the classes, where targets are class numbers that have names.
  [[nodiscard]] const std::vector<std::string>& classes() const noexcept { return classes_; }
  // Examples [first, first + count), as views. Errors: index_out_of_range.
  [[nodiscard]] Dataset slice(int64_t first, int64_t count) const;

 private:
  Tensor inputs_;
  Tensor targets_;
  std::vector<std::string> classes_;
};

struct DataLoaderOptions {
  int64_t batch_size = 64;
  bool shuffle = false;
  // Seed of the order: the same seed gives the same passes. None: each loader draws one (draw_seed).
  std::optional<uint64_t> seed = {};
  // Leaves out the last batch if it is not full.
  bool drop_last = false;
};

class DataLoader {
 public:
  // Errors: invalid_argument for a batch size below 1.
  explicit DataLoader(Dataset data, const DataLoaderOptions& options = {});

  // How many batches a pass has.
  [[nodiscard]] int64_t size() const;
  // The batches of the next pass; each pass has an order of its own. Unshuffled batches are views, shuffled ones copies.
  [[nodiscard]] std::vector<Batch> batches();

 private:
  Dataset data_;
  DataLoaderOptions options_;
  uint64_t pass_ = 0;
};

}  // namespace nn
}  // namespace wick
