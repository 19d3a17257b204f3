#include "wick/model/memory_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/fail_with.h"
#include "wick/device/linked_kernels.h"

namespace wick {
namespace {

// Beside weights and cache, activations need room.
constexpr double kUsable = 0.95;

std::string text_of(uint64_t bytes) {
  constexpr double kMebi = 1 << 20, kGibi = 1 << 30;
  const auto number = static_cast<double>(bytes);
  return number < kGibi ? fmt::format("{:.1f} MiB", number / kMebi) : fmt::format("{:.2f} GiB", number / kGibi);
}

// "cuda:0 (NVIDIA H200), of whose 139.80 GiB 12.00 GiB are free"; some drivers tell neither.
std::string memory_of(const Device& device, std::optional<size_t> free) {
  const uint64_t all = device.caps().memory_bytes;
  const std::string name = fmt::format("{} ({})", device.location().to_string(), device.caps().name);
  if (all == 0) return name + ", whose driver does not say how much memory it has";
  return fmt::format("{}, of whose {} {}", name, text_of(all),
                     free ? text_of(*free) + " are free" : "its driver does not say how much is free");
}

uint64_t usable_of(std::optional<size_t> free) { return static_cast<uint64_t>(kUsable * static_cast<double>(free.value_or(0))); }

// Bytes of a checkpoint's tensors by layer, and of those that are in no layer.
struct WeightBytes {
  std::vector<uint64_t> layers;
  uint64_t others = 0;
  int64_t elements = 0;

  explicit WeightBytes(const Checkpoint& checkpoint) {
    for (const CheckpointTensor& tensor : checkpoint.tensors()) {
      elements += tensor.shape.elements();
      const DType dtype = weight_dtype(tensor.dtype);
      const uint64_t bytes = dtype == tensor.dtype ? tensor.bytes() : static_cast<uint64_t>(storage_bytes(dtype, tensor.shape.elements()));
      const std::optional<size_t> layer = layer_of(tensor.name);
      if (!layer) {
        others += bytes;
        continue;
      }
      layers.resize(std::max(layers.size(), *layer + 1));
      layers[*layer] += bytes;
    }
  }
  // Of the last `count` layers; of all of it where that is more.
  [[nodiscard]] uint64_t of_last(size_t count) const {
    uint64_t bytes = count > layers.size() ? others : 0;
    for (size_t i = layers.size() - std::min(count, layers.size()); i < layers.size(); ++i) bytes += layers[i];
    return bytes;
  }

 private:
  static std::optional<size_t> layer_of(std::string_view name) {
    constexpr std::string_view kPrefix = "blk.";
    if (!name.starts_with(kPrefix)) return std::nullopt;
    size_t number = 0;
    const std::string_view rest = name.substr(kPrefix.size());
    constexpr size_t kMax = 1 << 16;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    return error == std::errc() && number < kMax ? std::optional(number) : std::nullopt;
  }
};

// The largest type, smaller than what the weights are, in which all of them would fit: "q4_k, about 4.21 GiB".
std::optional<std::string> smaller_type(const WeightBytes& weights, uint64_t usable) {
  constexpr std::array kTypes{DType::q8_0, DType::q6_k, DType::q5_k, DType::q4_k, DType::q3_k, DType::q2_k};
  const uint64_t now = weights.of_last(weights.layers.size() + 1);
  for (const DType type : kTypes) {
    const double bits = 8.0 * info(type).block_bytes / info(type).block_elements;
    const auto bytes = static_cast<uint64_t>(static_cast<double>(weights.elements) * bits / 8);
    if (bytes < now && bytes <= usable) return fmt::format("{}, about {}", to_string(type), text_of(bytes));
  }
  return std::nullopt;
}

}  // namespace

std::optional<size_t> free_memory(const Device& device) {
  const GraphRecorder* const kernels = linked_graph_recorder();
  return kernels == nullptr ? std::nullopt : kernels->free_bytes(device);
}

void fail_weights_too_large(const Checkpoint& checkpoint, const Device& device, const PlacementOptions& placement,
                            std::optional<size_t> free) {
  const WeightBytes weights(checkpoint);
  const size_t layers = weights.layers.size();
  const auto wanted = static_cast<size_t>(
      std::min<int64_t>(placement.device_layers.value_or(static_cast<int64_t>(layers) + 1), static_cast<int64_t>(layers) + 1));
  const uint64_t usable = usable_of(free);
  size_t fit = 0;
  while (fit < layers && fit < wanted && weights.of_last(fit + 1) <= usable) ++fit;
  Remedies remedies;
  if (fit > 0 && fit < wanted) {
    remedies.push_back({fmt::format("{{}} leaves {} of {} layers on it", fit, layers), Setting::gpu_layers, std::to_string(fit)});
  }
  if (const std::optional<std::string> type = smaller_type(weights, usable); type && wanted > layers) {
    remedies.push_back({fmt::format("all of it fits as {} (wick quantize)", *type)});
  }
  if (remedies.empty()) {
    remedies = {{"take a smaller model"}, {"take a smaller type (wick quantize)"}, {"take {}", Setting::device, "cpu"}};
  }
  fail_with(std::move(remedies), ErrorCode::out_of_memory, "{}: out of memory: {} of weights are for {}", checkpoint.name(),
            text_of(weights.of_last(wanted)), memory_of(device, free));
}

void fail_cache_too_large(const KvLayout& layout, const KvPoolOptions& options, const Device& device, std::optional<size_t> free) {
  KvPoolOptions of_one = options;
  of_one.sequences = 1;
  const int64_t one = KvPool::bytes_for(layout, of_one, 1);
  const auto positions = static_cast<int64_t>(static_cast<double>(options.context) * static_cast<double>(usable_of(free)) /
                                              static_cast<double>(std::max<int64_t>(1, one)));
  const int64_t whole = std::min(options.context, positions) / options.block_size * options.block_size;
  Remedies remedies;
  if (whole > 0) remedies.push_back({fmt::format("{} positions fit ({{}})", whole), Setting::context, std::to_string(whole)});
  const auto takes_less = [](const KvLayer& layer) {
    const int64_t block = info(DType::q8_0).block_elements;
    return layer.dtype != DType::q8_0 && layer.value_dim > 0 && layer.key_dim % block == 0 && layer.value_dim % block == 0;
  };
  const bool is_smaller = !layout.layers.empty() && std::all_of(layout.layers.begin(), layout.layers.end(), takes_less);
  if (is_smaller) remedies.push_back({"{} takes about half of it", Setting::kv_dtype, "q8_0"});
  remedies.push_back({"a smaller {} leaves more memory", Setting::gpu_layers});
  fail_with(std::move(remedies), ErrorCode::out_of_memory, "out of memory: {} of KV cache ({} positions of a text take {}) are for {}",
            text_of(static_cast<uint64_t>(std::max<int64_t>(0, options.bytes))), options.context, text_of(static_cast<uint64_t>(one)),
            memory_of(device, free));
}

}  // namespace wick
