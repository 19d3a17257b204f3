// A plot of a training as an SVG file: the loss of every step, its running mean, and the loss on held-out images.
#pragma once

#include <filesystem>
#include <span>

namespace mnist {

struct HeldOutLoss {
  int64_t step;
  double loss;
};

// The scale of the losses is logarithmic. Errors: wick::Error, naming the path.
void write_loss_plot(const std::filesystem::path& path, std::span<const double> losses, std::span<const HeldOutLoss> held_out);

}  // namespace mnist
