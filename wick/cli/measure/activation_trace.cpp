#include "wick/cli/measure/activation_trace.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "wick/base/fail.h"
#include "wick/tensor/files.h"

namespace wick {

InputObserver ActivationTrace::observer() {
  return [this](const WeightInput& input) {
    if (input.chosen != nullptr) return;  // in which order a token uses its experts is no difference
    constexpr std::string_view kSuffix = ".weight";
    std::string_view weight = input.weight;
    if (weight.ends_with(kSuffix)) weight.remove_suffix(kSuffix.size());
    add(std::string(weight), input.values);
  };
}

void ActivationTrace::add(std::string name, const Tensor& values) {
  // Again: a later part of the text, which run() does not make.
  if (!index_.emplace(name, points_.size()).second) return;
  points_.push_back({std::move(name), values.shape(), values.to_dtype(DType::f32).to_vector<float>()});
}

void ActivationTrace::run(const LanguageModel& model, std::span<const int32_t> tokens) {
  if (std::ssize(tokens) > rows_at_once(model.device())) {
    fail(ErrorCode::invalid_argument, "{} tokens: a trace takes up to {}; shorten the text", tokens.size(), rows_at_once(model.device()));
  }
  const auto sequence = model.new_sequence(std::ssize(tokens));
  add("output", model.forward(tokens, *sequence, LogitRows::all));
}

ActivationTrace ActivationTrace::load(const std::filesystem::path& path) {
  ActivationTrace trace;
  for (const auto& [name, tensor] : load_safetensors(path, Device::cpu())) trace.add(name, tensor);
  return trace;
}

void ActivationTrace::save(const std::filesystem::path& path) const {
  NamedTensors tensors;
  for (const Point& point : points_) tensors.emplace(point.name, Tensor::from_vector(point.values, point.shape, Device::cpu()));
  save_safetensors(tensors, path);
}

const ActivationTrace::Point* ActivationTrace::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &points_[found->second];
}

ActivationTrace::Difference ActivationTrace::compare(const Point& mine, const Point& theirs) {
  Difference difference{.point = mine.name};
  if (mine.values.size() != theirs.values.size() || mine.shape != theirs.shape) {
    difference.error = std::numeric_limits<double>::infinity();
    difference.shapes = mine.shape.to_string() + " and " + theirs.shape.to_string();
    return difference;
  }
  double squares = 0;
  double power = 0;
  const int64_t columns = mine.shape.rank() == 0 ? 1 : std::max<int64_t>(mine.shape.last(), 1);
  for (size_t index = 0; index < mine.values.size(); ++index) {
    const double apart = std::fabs(static_cast<double>(mine.values[index]) - theirs.values[index]);
    squares += apart * apart;
    power += std::pow(static_cast<double>(theirs.values[index]), 2);
    // Not a number counts as furthest.
    if (apart <= difference.largest) continue;
    difference.largest = apart;
    difference.row = static_cast<int64_t>(index) / columns;
    difference.column = static_cast<int64_t>(index) % columns;
  }
  difference.error = squares == 0 ? 0 : squares / power;
  if (std::isnan(difference.error)) difference.error = std::numeric_limits<double>::infinity();
  return difference;
}

std::optional<ActivationTrace::Difference> ActivationTrace::first_difference(const ActivationTrace& other, double tolerance) const {
  for (const Point& point : points_) {
    const Point* theirs = other.find(point.name);
    if (theirs == nullptr) continue;
    Difference difference = compare(point, *theirs);
    if (!(difference.error <= tolerance)) return difference;
  }
  return std::nullopt;
}

ActivationTrace::Agreement ActivationTrace::agreement(const ActivationTrace& other) const {
  Agreement agreement;
  for (const Point& point : points_) {
    const Point* theirs = other.find(point.name);
    if (theirs == nullptr) continue;
    ++agreement.points;
    agreement.error = std::max(agreement.error, compare(point, *theirs).error);
  }
  return agreement;
}

}  // namespace wick
