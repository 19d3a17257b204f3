// Optimizers move variables against their gradients. SGD, Adam and AdamW are defined as PyTorch defines them.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "wick/tensor/backward.h"
#include "wick/tensor/variable.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One step. A variable without a gradient stays as it is.
  void step(const GradStore& gradients);
  // backward, and a step.
  void backward_step(const Tensor& loss) { step(backward(loss)); }
  [[nodiscard]] double learning_rate() const noexcept { return learning_rate_; }
  // Errors: invalid_argument for a negative one.
  void set_learning_rate(double learning_rate);
  [[nodiscard]] const std::vector<Var>& vars() const noexcept { return vars_; }

 protected:
  Optimizer(std::vector<Var> vars, double learning_rate);
  // Moves variable `index`.
  virtual void move(size_t index, const Tensor& gradient) = 0;

 private:
  std::vector<Var> vars_;
  double learning_rate_ = 0;
};

struct SgdConfig {
  double learning_rate = 0.01;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
};

// g += weight_decay · w; b = momentum · b + (1 - dampening) · g (the first b is g); w -= rate · b, or with Nesterov's momentum
// rate · (g + momentum · b).
class Sgd final : public Optimizer {
 public:
  // Errors: invalid_argument for negative numbers, and for Nesterov's momentum without momentum or with dampening.
  Sgd(std::vector<Var> vars, const SgdConfig& config);
  Sgd(std::vector<Var> vars, double learning_rate) : Sgd(std::move(vars), SgdConfig{.learning_rate = learning_rate}) {}

 private:
  void move(size_t index, const Tensor& gradient) override;

  SgdConfig config_;
  std::vector<std::optional<Tensor>> momenta_;
};

struct AdamConfig {
  double learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
};

// m and v are running means of g and g², corrected for their start at 0; w -= rate · m / (√v + ε) (Kingma & Ba 2015).
// The weight decay is part of g.
class Adam : public Optimizer {
 public:
  // Errors: invalid_argument for negative numbers and betas outside [0, 1).
  Adam(std::vector<Var> vars, const AdamConfig& config) : Adam(std::move(vars), config, false) {}

 protected:
  Adam(std::vector<Var> vars, const AdamConfig& config, bool decoupled);

 private:
  struct Moments {
    Tensor mean;
    Tensor square;
    int64_t steps = 0;
  };

  void move(size_t index, const Tensor& gradient) final;

  AdamConfig config_;
  bool decoupled_;
  std::vector<std::optional<Moments>> moments_;
};

// The same, but the weight decay is a step of its own: w -= rate · weight_decay · w (Loshchilov & Hutter 2019).
class AdamW final : public Adam {
 public:
  AdamW(std::vector<Var> vars, const AdamConfig& config) : Adam(std::move(vars), config, true) {}
  // With PyTorch's decay of 0.01.
  AdamW(std::vector<Var> vars, double learning_rate)
      : AdamW(std::move(vars), AdamConfig{.learning_rate = learning_rate, .weight_decay = 0.01}) {}
};

}  // namespace nn
}  // namespace wick
