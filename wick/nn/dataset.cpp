#include "wick/nn/dataset.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "wick/base/fail.h"
#include "wick/device/random_stream.h"

namespace wick::nn {
namespace {

// Fisher and Yates. std::shuffle's result is the library's choice; this one is the same everywhere.
std::vector<uint32_t> shuffled(int64_t size, uint64_t seed, uint64_t pass) {
  std::vector<uint32_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0U);
  std::seed_seq sequence{seed & 0xffffffff, seed >> 32, pass & 0xffffffff, pass >> 32};
  std::mt19937_64 random(sequence);
  for (size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random() % left]);
  return order;
}

}  // namespace

Dataset::Dataset(Tensor inputs, Tensor targets, std::vector<std::string> classes)
    : inputs_(std::move(inputs)), targets_(std::move(targets)), classes_(std::move(classes)) {
  if (inputs_.rank() < 1 || targets_.rank() < 1 || inputs_.dims()[0] != targets_.dims()[0]) {
    fail(ErrorCode::shape_mismatch, "Dataset: inputs {} and targets {} must have the same first dimension", inputs_.describe(),
         targets_.describe());
  }
}

Dataset Dataset::slice(int64_t first, int64_t count) const {
  return on_behalf_of("Dataset::slice",
                      [&] { return Dataset(inputs_.narrow(0, first, count), targets_.narrow(0, first, count), classes_); });
}

DataLoader::DataLoader(Dataset data, const DataLoaderOptions& options) : data_(std::move(data)), options_(options) {
  if (options.batch_size < 1) fail(ErrorCode::invalid_argument, "DataLoader: batch_size {} must be 1 or more", options.batch_size);
  if (options.shuffle && !options.seed) options_.seed = draw_seed();
}

int64_t DataLoader::size() const {
  const int64_t full = data_.size() / options_.batch_size;
  return full + (!options_.drop_last && data_.size() % options_.batch_size != 0 ? 1 : 0);
}

std::vector<Batch> DataLoader::batches() {
  Tensor order;
  if (options_.shuffle) {
    order = Tensor::from_owned(shuffled(data_.size(), *options_.seed, pass_++), {data_.size()}, data_.inputs().device());
  }
  std::vector<Batch> batches;
  for (int64_t index = 0; index < size(); ++index) {
    const int64_t first = index * options_.batch_size;
    const int64_t count = std::min(options_.batch_size, data_.size() - first);
    if (!options_.shuffle) {
      batches.push_back({data_.inputs().narrow(0, first, count), data_.targets().narrow(0, first, count)});
      continue;
    }
    const Tensor ids = order.narrow(0, first, count);
    batches.push_back({data_.inputs().index_select(ids, 0), data_.targets().index_select(ids, 0)});
  }
  return batches;
}

}  // namespace wick::nn
