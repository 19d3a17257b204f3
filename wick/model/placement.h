// A Placement says which device computes which part of a model: where a GPU's memory does not hold all of it, the CPU computes the rest.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "wick/device/device.h"

namespace wick {

// Layers and experts that another device than the model's computes.
struct PlacementOptions {
  static constexpr int64_t kAllLayers = std::numeric_limits<int64_t>::max();

  // The other device, usually the CPU; needed where something is to be there.
  std::optional<Device> host = {};
  // The last so many layers are the device's, and the others the host's, as are embedding and head where that are not more than the model
  // has layers. None: all of it is the device's.
  std::optional<int64_t> device_layers = {};
  // The host computes the experts of the first so many layers, whose weights are most of such a model and few of them read for a token.
  int64_t host_expert_layers = 0;
};

struct Placement {
  // By their numbers among `devices`.
  struct Layer {
    size_t device = 0;
    size_t experts = 0;  // the device of the layer's experts
  };
  std::vector<Device> devices;  // each once; the first embeds tokens, has the head, and gives the results
  std::vector<Layer> layers;

  // Placement for a model's layers. `has_experts`: which of them have experts. Errors: invalid_argument for numbers below 0, and if there
  // is no host for what it is to compute.
  [[nodiscard]] static Placement of(const std::vector<bool>& has_experts, const Device& device, const PlacementOptions& options);

  [[nodiscard]] const Device& main() const noexcept { return devices.front(); }
  [[nodiscard]] bool is_single() const noexcept { return devices.size() == 1; }
  // "layers 0-7, embedding and head on cpu, layers 8-15 on cuda:0, experts of layers 8-11 on cpu"; "all on cpu".
  [[nodiscard]] std::string describe() const;
};

}  // namespace wick
