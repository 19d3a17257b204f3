// An ActivationTrace is what the matrices of a model were multiplied by in one pass over a text, and its logits: where two runs first
// differ, one of them computes something else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wick/layout/shape.h"
#include "wick/model/language_model.h"

namespace wick {

class ActivationTrace {
 public:
  // Shows the trace the inputs of a model's weights: LoadOptions::observe. It must outlive the model.
  [[nodiscard]] InputObserver observer();
  // Runs the text through the model, all tokens at once, and keeps what was observed, and the logits as "output".
  void run(const LanguageModel& model, std::span<const int32_t> tokens);

  // A safetensors file of another program or of save(): a tensor for each weight's input, by the weight's name without ".weight".
  [[nodiscard]] static ActivationTrace load(const std::filesystem::path& path);
  void save(const std::filesystem::path& path) const;

  // The first point, in this trace's order, at which the other is further than `tolerance` away: Σ (a - b)² / Σ b². Points that the other
  // has not are passed over.
  struct Difference {
    std::string point;  // "blk.3.attn_output": the input of that weight
    double error = 0;   // that share; infinite where shapes differ
    double largest = 0;
    int64_t row = 0, column = 0;  // of the largest
    std::string shapes = {};      // where they differ
  };
  [[nodiscard]] std::optional<Difference> first_difference(const ActivationTrace& other, double tolerance) const;
  // How many points both have, and the largest error of them.
  struct Agreement {
    int64_t points = 0;
    double error = 0;
  };
  [[nodiscard]] Agreement agreement(const ActivationTrace& other) const;

 private:
  struct Point {
    std::string name;
    Shape shape;
    std::vector<float> values;
  };
  void add(std::string name, const Tensor& values);
  [[nodiscard]] const Point* find(const std::string& name) const;
  [[nodiscard]] static Difference compare(const Point& mine, const Point& theirs);

  std::vector<Point> points_;
  std::map<std::string, size_t> index_;
};

}  // namespace wick
