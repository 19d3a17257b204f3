// Optimizers move variables against their gradients. SGD, Adam and AdamW are defined as PyTorch defines them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wick/tensor/backward.h"
#include "wick/tensor/files.h"
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
  // The variables of the constructor are group 0; add_group of SGD and Adam adds others. Errors: index_out_of_range for a group that is not
  // there.
  [[nodiscard]] size_t groups() const noexcept { return learning_rates_.size(); }
  [[nodiscard]] double learning_rate(size_t group = 0) const;
  // Sets the rate of all groups, or of one. Errors: invalid_argument for a negative one.
  void set_learning_rate(double learning_rate);
  void set_learning_rate(size_t group, double learning_rate);
  [[nodiscard]] const std::vector<Var>& vars() const noexcept { return vars_; }
  // Keeps the weights of variables in bf16, f16 and f8e4m3 in f32 from the next step on, moves those and rounds them into the variables, so
  // that small steps are not lost; the other state of these variables is f32, too. To be called before the first step and load_state.
  void keep_master_weights() noexcept { keeps_master_weights_ = true; }

  // Tensors that a training that goes on needs beside the variables, by the variable's number: "3.mean" (save_safetensors writes it), and
  // "3.master", the weights in f32. A variable that was never moved has none. The learning rates are not part of it.
  [[nodiscard]] NamedTensors state() const;
  // Takes the place of the state. Errors: invalid_argument for a name that this optimizer has not, or a part that is missing;
  // shape_mismatch; then nothing is changed.
  void load_state(const NamedTensors& state);

 protected:
  using State = std::map<std::string, Tensor>;  // of one variable, by name

  Optimizer() = default;
  // Returns the group's number.
  size_t add_vars(std::vector<Var> vars, double learning_rate);
  [[nodiscard]] size_t group_of(size_t index) const { return group_of_[index]; }
  // The weights of variable `index` after a step, which its state counts.
  [[nodiscard]] virtual Tensor moved(size_t index, const Tensor& weights, const Tensor& gradient) = 0;
  // The names of a moved variable's state, and whether each is shaped as the variable (else it is a number).
  [[nodiscard]] virtual std::vector<std::pair<std::string, bool>> state_names(size_t index) const = 0;
  // Nothing for a variable that was never moved.
  [[nodiscard]] virtual State state_of(size_t index) const = 0;
  virtual void set_state(size_t index, const State& state) = 0;

 private:
  std::vector<Var> vars_;
  std::vector<size_t> group_of_;
  std::vector<double> learning_rates_;
  [[nodiscard]] bool has_master(size_t index) const;
  // The weights of variable `index` in f32: the master's, unless the variable was set since.
  [[nodiscard]] Tensor exact_weights(size_t index) const;

  bool keeps_master_weights_ = false;
  std::map<size_t, Tensor> masters_;  // by the variable's number
};

struct SgdConfig {
  double learning_rate = 0.01;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
};

// g += weight_decay · w; b = momentum · b + (1 - dampening) · g (the first b is g); w -= rate · b, or with Nesterov's momentum
// rate · (g + momentum · b). Returns w; the momentum b is updated. Any floating dtype, all of one shape.
[[nodiscard]] Tensor sgd_step(const Tensor& weights, const Tensor& gradient, std::optional<Tensor>& momentum, const SgdConfig& config);

class Sgd final : public Optimizer {
 public:
  // Errors: invalid_argument for negative numbers, and for Nesterov's momentum without momentum or with dampening.
  Sgd(std::vector<Var> vars, const SgdConfig& config) { add_group(std::move(vars), config); }
  Sgd(std::vector<Var> vars, double learning_rate) : Sgd(std::move(vars), SgdConfig{.learning_rate = learning_rate}) {}
  // More variables, moved by settings of their own. Returns the group's number. Errors: as the constructor; invalid_argument for a
  // variable that is there already.
  size_t add_group(std::vector<Var> vars, const SgdConfig& config);

 private:
  [[nodiscard]] Tensor moved(size_t index, const Tensor& weights, const Tensor& gradient) override;
  [[nodiscard]] std::vector<std::pair<std::string, bool>> state_names(size_t index) const override;
  [[nodiscard]] State state_of(size_t index) const override;
  void set_state(size_t index, const State& state) override;

  std::vector<SgdConfig> configs_;
  std::vector<std::optional<Tensor>> momenta_;
};

struct AdamConfig {
  double learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
};

// Running means of one variable's g and g², and how often it was moved.
struct AdamMoments {
  Tensor mean;
  Tensor square;
  int64_t steps = 0;
};

// m and v are running means of g and g², corrected for their start at 0; w -= rate · m / (√v + ε) (Kingma & Ba 2015).
// The weight decay is part of g, or `decoupled` a step of its own: w -= rate · weight_decay · w (Loshchilov & Hutter 2019).
// Returns w; the moments, none before the first step, are updated. Any floating dtype, all of one shape.
[[nodiscard]] Tensor adam_step(const Tensor& weights, const Tensor& gradient, std::optional<AdamMoments>& moments, const AdamConfig& config,
                               bool decoupled);

class Adam : public Optimizer {
 public:
  // Errors: invalid_argument for negative numbers and betas outside [0, 1).
  Adam(std::vector<Var> vars, const AdamConfig& config) : Adam(std::move(vars), config, false) {}
  // More variables, moved by settings of their own. Returns the group's number. Errors: as the constructor; invalid_argument for a
  // variable that is there already.
  size_t add_group(std::vector<Var> vars, const AdamConfig& config);

 protected:
  Adam(std::vector<Var> vars, const AdamConfig& config, bool decoupled) : decoupled_(decoupled) { add_group(std::move(vars), config); }

 private:
  [[nodiscard]] Tensor moved(size_t index, const Tensor& weights, const Tensor& gradient) final;
  [[nodiscard]] std::vector<std::pair<std::string, bool>> state_names(size_t index) const final;
  [[nodiscard]] State state_of(size_t index) const final;
  void set_state(size_t index, const State& state) final;

  bool decoupled_;
  std::vector<AdamConfig> configs_;
  std::vector<std::optional<AdamMoments>> moments_;
};

// Adam with decoupled weight decay.
class AdamW final : public Adam {
 public:
  AdamW(std::vector<Var> vars, const AdamConfig& config) : Adam(std::move(vars), config, true) {}
  // With PyTorch's decay of 0.01.
  AdamW(std::vector<Var> vars, double learning_rate)
      : AdamW(std::move(vars), AdamConfig{.learning_rate = learning_rate, .weight_decay = 0.01}) {}
};

}  // namespace nn
}  // namespace wick
