#include "wick/model/placement.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "wick/base/fail.h"
#include "wick/model/shared_placement.h"

namespace wick {
namespace {

// "0-7, 12": the numbers of the layers for which this holds; empty if there are none.
std::string layers_where(const std::vector<Placement::Layer>& layers, const std::function<bool(const Placement::Layer&)>& holds) {
  std::string text;
  for (size_t first = 0; first < layers.size();) {
    size_t end = first;
    while (end < layers.size() && holds(layers[end])) ++end;
    if (end > first) {
      text += text.empty() ? "" : ", ";
      text += end - first == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, end - 1);
    }
    first = std::max(end, first + 1);
  }
  return text;
}

void check_options(const PlacementOptions& options) {
  if (options.device_layers && *options.device_layers < 0) {
    fail(ErrorCode::invalid_argument, "placement: {} layers on the device; give 0 or more", *options.device_layers);
  }
  if (options.host_expert_layers < 0) {
    fail(ErrorCode::invalid_argument, "placement: experts of {} layers on the host; give 0 or more", options.host_expert_layers);
  }
}

}  // namespace

Placement Placement::of(const std::vector<bool>& has_experts, const Device& device, const PlacementOptions& options) {
  check_options(options);
  const auto count = static_cast<int64_t>(has_experts.size());
  const int64_t on_device = std::min(options.device_layers.value_or(PlacementOptions::kAllLayers), count + 1);
  const bool all = on_device > count;
  Placement placement;
  const auto number_of = [&](bool on_host) {
    if (on_host && !options.host) {
      fail(ErrorCode::invalid_argument, "placement: a part of the model is not to be on {}, and no other device was given",
           device.location().to_string());
    }
    const Device& wanted = on_host ? *options.host : device;
    const auto there = std::find_if(placement.devices.begin(), placement.devices.end(),
                                    [&](const Device& other) { return &other.runtime() == &wanted.runtime(); });
    if (there != placement.devices.end()) return static_cast<size_t>(there - placement.devices.begin());
    placement.devices.push_back(wanted);
    return placement.devices.size() - 1;
  };
  (void)number_of(!all);  // the first
  for (int64_t layer = 0; layer < count; ++layer) {
    const size_t place = number_of(layer < count - on_device);
    const bool moves = has_experts[static_cast<size_t>(layer)] && layer < options.host_expert_layers;
    placement.layers.push_back({place, moves ? number_of(true) : place});
  }
  return placement;
}

PlacementOptions share_with_cpu(const Device& device, std::optional<int64_t> gpu_layers, int64_t cpu_expert_layers,
                                std::string_view function) {
  if (!gpu_layers && cpu_expert_layers == 0) return {};
  if (device.is_cpu()) {
    fail(ErrorCode::invalid_argument, "{}: gpu_layers and cpu_expert_layers share a model with the CPU, and the device is {}", function,
         device.location().to_string());
  }
  return {.host = Device::cpu(), .device_layers = gpu_layers, .host_expert_layers = cpu_expert_layers};
}

std::string Placement::describe() const {
  if (is_single()) return "all on " + main().location().to_string();
  std::vector<std::string> parts;
  for (size_t device = 0; device < devices.size(); ++device) {
    const std::string own = layers_where(layers, [&](const Layer& layer) { return layer.device == device; });
    const std::string ends = device == 0 ? "embedding and head" : "";
    if (own.empty() && ends.empty()) continue;
    parts.push_back(fmt::format("{}{}{} on {}", own.empty() ? "" : "layers " + own, own.empty() || ends.empty() ? "" : ", ", ends,
                                devices[device].location().to_string()));
  }
  for (size_t device = 0; device < devices.size(); ++device) {
    const std::string moved = layers_where(layers, [&](const Layer& layer) { return layer.experts == device && layer.device != device; });
    if (!moved.empty()) parts.push_back(fmt::format("experts of layers {} on {}", moved, devices[device].location().to_string()));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace wick
