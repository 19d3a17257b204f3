// The adapters of a DecoderModel.
#include <algorithm>
#include <utility>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/model/decoder_model.h"
#include "wick/model/lora/lora_adapter.h"

namespace wick {
namespace {

// The halves of one pair, in the model's order of rows.
struct Halves {
  size_t expert = 0;
  int64_t rank = 0;
  std::vector<float> a, b;
};

Halves halves_of(const LoraAdapter& adapter, const LoraPair& pair, const DecoderSpec& spec, size_t expert) {
  Halves halves{.expert = expert, .rank = pair.a.shape[0], .a = pair.a.to_floats(), .b = {}};
  const std::vector<float> stored = pair.b.to_floats();
  halves.b.reserve(stored.size());
  for (const int64_t row : adapter.source_rows(pair, spec, spec.rope_style)) {
    for (int64_t column = 0; column < halves.rank; ++column) {
      halves.b.push_back(static_cast<float>(stored[static_cast<size_t>(row * halves.rank + column)] * pair.scale));
    }
  }
  return halves;
}

LoraStack stacked(std::span<const Halves> all, int64_t experts, const ScaledMatrix& matrix, const Device& device) {
  int64_t rank = 0;
  for (const Halves& each : all) rank = std::max(rank, each.rank);
  const int64_t rows = matrix.weight.shape()[0], columns = matrix.weight.shape()[1];
  std::vector<float> a(static_cast<size_t>(experts * rank * columns)), b(static_cast<size_t>(experts * rows * rank));
  for (const Halves& each : all) {
    std::copy(each.a.begin(), each.a.end(), a.begin() + static_cast<std::ptrdiff_t>(each.expert) * rank * columns);
    for (int64_t row = 0; row < rows; ++row) {
      std::copy_n(each.b.begin() + (matrix.first_row + row) * each.rank, each.rank,
                  b.begin() + (static_cast<std::ptrdiff_t>(each.expert) * rows + row) * rank);
    }
  }
  return {Tensor::from_span(std::span<const float>(a), {experts, rank, columns}, device),
          Tensor::from_span(std::span<const float>(b), {experts, rows, rank}, device)};
}

void check_pair(const LoraAdapter& adapter, const LoraPair& pair, const ScaledMatrix& matrix, const std::string& model) {
  const int64_t columns = matrix.weight.shape()[1];
  if (pair.a.shape[1] == columns && pair.b.shape[0] == matrix.rows_of_tensor) return;
  fail(ErrorCode::shape_mismatch, "{}: '{}' {} and '{}' {} do not fit weight '{}' [{}, {}] of {}; the adapter is for another model",
       adapter.name(), printable_name(pair.a.stored), pair.a.shape.to_string(), printable_name(pair.b.stored), pair.b.shape.to_string(),
       pair.weight, matrix.rows_of_tensor, columns, model);
}

}  // namespace

std::multimap<std::string, ScaledMatrix*, std::less<>> DecoderModel::adaptable() {
  std::multimap<std::string, ScaledMatrix*, std::less<>> found;
  if (own_head_) found.emplace(own_head_->name, &*own_head_);
  for (DecoderLayer& layer : layers_) {
    for (DecoderBlock& block : layer.blocks) {
      for (DecoderBlock::Part& part : block.parts) {
        for (ScaledMatrix* matrix : part.mixer->adaptable()) found.emplace(matrix->name, matrix);
      }
    }
  }
  return found;
}

void DecoderModel::add_adapter(const std::string& name, std::shared_ptr<const LoraAdapter> adapter, float scale) {
  if (source_ != nullptr) {
    fail(ErrorCode::unsupported, "adapter {}: this version runs no adapters of encoder–decoders such as {}; merge it into the model",
         printable(name), info_.name);
  }
  for (const LoadedAdapter& other : loaded_adapters_) {
    if (other.name == name) {
      fail(ErrorCode::invalid_argument, "adapter {}: there is one of that name; give each its own", printable(name));
    }
  }
  const auto matrices = adaptable();
  for (const LoraPair& pair : adapter->pairs()) {
    const auto [first, last] = matrices.equal_range(pair.weight);
    if (first == last) {
      fail(ErrorCode::unsupported,
           "{}: tensor '{}' changes '{}', which is no weight of {} that adapters can change; is it for another model?", adapter->name(),
           printable_name(pair.a.stored), printable_name(pair.weight), info_.name);
    }
    check_pair(*adapter, pair, *first->second, info_.name);
  }
  std::vector<std::shared_ptr<const LoraAdapter>> all = adapters_;
  all.push_back(adapter);
  std::map<std::string, std::vector<Halves>, std::less<>> halves;
  for (size_t index = 0; index < all.size(); ++index) {
    for (const LoraPair& pair : all[index]->pairs()) halves[pair.weight].push_back(halves_of(*all[index], pair, spec_, index + 1));
  }
  // Nothing is changed before all of it has found memory.
  std::vector<std::pair<ScaledMatrix*, std::shared_ptr<const LoraStack>>> stacks;
  for (const auto& [weight, matrix] : matrices) {
    const auto of = halves.find(weight);
    if (of == halves.end()) continue;
    stacks.emplace_back(matrix,
                        std::make_shared<const LoraStack>(stacked(of->second, std::ssize(all) + 1, *matrix, matrix->weight.device())));
  }
  for (auto& [matrix, stack] : stacks) matrix->adapters = std::move(stack);
  adapters_ = std::move(all);
  loaded_adapters_.push_back({name, scale, adapter->identity()});
}

AdapterNumbers DecoderModel::adapter_numbers(const Batch& batch, int64_t first, int64_t count) const {
  int64_t used = 0;
  for (const SequenceSlice& slice : batch.sequences) {
    if (slice.first < first + count && slice.first + slice.count > first) used = std::max(used, std::ssize(slice.adapters));
  }
  if (used == 0) return {};
  const auto all = static_cast<size_t>(count * used);
  AdapterNumbers numbers{used, std::vector<int32_t>(all), std::vector<float>(all)};
  for (const SequenceSlice& slice : batch.sequences) {
    for (int64_t row = std::max(slice.first, first); row < std::min(slice.first + slice.count, first + count); ++row) {
      for (size_t index = 0; index < slice.adapters.size(); ++index) {
        const auto [adapter, scale] = slice.adapters[index];
        if (adapter < 1 || adapter > std::ssize(adapters_)) {
          fail(ErrorCode::invalid_argument, "batch: adapter {}; {} has {}", adapter, info_.name, adapters_.size());
        }
        const size_t place = static_cast<size_t>((row - first) * used) + index;
        numbers.ids[place] = adapter;
        numbers.scales[place] = scale;
      }
    }
  }
  return numbers;
}

}  // namespace wick
