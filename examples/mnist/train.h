// Training a SmallNet from nothing, on most of the images; the others tell how good it is.
#pragma once

#include <cstdint>
#include <filesystem>

#include "classify.h"

namespace mnist {

struct TrainOptions {
  int epochs = 20;
  int64_t batch = 64;
  double learning_rate = 6e-3;  // the highest of one cycle
  uint64_t seed = 1;
  int64_t hold_out = 5;  // of so many images, the last one is held out
  std::filesystem::path save = "mnist-trained.safetensors";
  std::filesystem::path plot = "mnist-loss.svg";
};

// Trains, writes the net and the plot, reads the net back, and returns what that one makes of the held-out images.
Result train(const Images& images, const TrainOptions& options, const wick::Device& device);

}  // namespace mnist
