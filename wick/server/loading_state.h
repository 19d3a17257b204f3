// A LoadingState says how far the loading of a model is.
#pragma once

#include <cstdint>
#include <functional>

namespace wick::server {

struct LoadingState {
  uint64_t bytes = 0;  // of the weights that are ready
  uint64_t total_bytes = 0;
  int64_t layers = 0;  // that are ready
  int64_t total_layers = 0;
};

using Progress = std::function<void(const LoadingState& state)>;

}  // namespace wick::server
