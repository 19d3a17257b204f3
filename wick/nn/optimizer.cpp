#include "wick/nn/optimizer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "wick/base/fail.h"

namespace wick::nn {
namespace {

void check_not_negative(const char* optimizer, const char* name, double value) {
  if (value >= 0) return;
  fail(ErrorCode::invalid_argument, "{}: {} is {}; allowed: 0 or more", optimizer, name, value);
}

void check_beta(const char* name, double value) {
  if (value >= 0 && value < 1) return;
  fail(ErrorCode::invalid_argument, "Adam: {} is {}; allowed: from 0 to below 1", name, value);
}

}  // namespace

double Optimizer::learning_rate(size_t group) const {
  if (group >= groups()) fail(ErrorCode::index_out_of_range, "optimizer: group {}: there are {}", group, groups());
  return learning_rates_[group];
}

void Optimizer::set_learning_rate(double learning_rate) {
  check_not_negative("optimizer", "learning rate", learning_rate);
  std::fill(learning_rates_.begin(), learning_rates_.end(), learning_rate);
}

void Optimizer::set_learning_rate(size_t group, double learning_rate) {
  check_not_negative("optimizer", "learning rate", learning_rate);
  if (group >= groups()) fail(ErrorCode::index_out_of_range, "optimizer: group {}: there are {}", group, groups());
  learning_rates_[group] = learning_rate;
}

size_t Optimizer::add_vars(std::vector<Var> vars, double learning_rate) {
  check_not_negative("optimizer", "learning rate", learning_rate);
  std::set<const void*> known;
  for (const Var& var : vars_) known.insert(&*var.tensor().storage());
  for (size_t index = 0; index < vars.size(); ++index) {
    if (known.contains(&*vars[index].tensor().storage())) {
      fail(ErrorCode::invalid_argument, "optimizer: variable {} of the new group is in another group already", index);
    }
  }
  learning_rates_.push_back(learning_rate);
  group_of_.resize(vars_.size() + vars.size(), groups() - 1);
  vars_.insert(vars_.end(), std::make_move_iterator(vars.begin()), std::make_move_iterator(vars.end()));
  return groups() - 1;
}

void Optimizer::step(const GradStore& gradients) {
  for (size_t index = 0; index < vars_.size(); ++index) {
    const std::optional<Tensor> gradient = gradients.get(vars_[index].tensor());
    if (!gradient) continue;
    if (!has_master(index)) {
      vars_[index].set(moved(index, vars_[index].as_detached_tensor(), gradient->detach()));
      continue;
    }
    const Tensor master = moved(index, exact_weights(index), gradient->detach().to_dtype(DType::f32));
    masters_.insert_or_assign(index, master);
    vars_[index].set(master.to_dtype(vars_[index].tensor().dtype()));
  }
}

bool Optimizer::has_master(size_t index) const {
  const DType dtype = vars_[index].tensor().dtype();
  return keeps_master_weights_ && dtype != DType::f32 && dtype != DType::f64;
}

Tensor Optimizer::exact_weights(size_t index) const {
  const Tensor x = vars_[index].as_detached_tensor();
  const auto master = masters_.find(index);
  if (master == masters_.end()) return x.to_dtype(DType::f32);
  return master->second.to_dtype(x.dtype()).eq(x).where_cond(master->second, x.to_dtype(DType::f32));
}

NamedTensors Optimizer::state() const {
  NamedTensors result;
  for (size_t index = 0; index < vars_.size(); ++index) {
    for (const auto& [name, tensor] : state_of(index)) result.emplace(fmt::format("{}.{}", index, name), tensor);
    const auto master = masters_.find(index);
    if (master != masters_.end()) result.emplace(fmt::format("{}.master", index), master->second);
  }
  return result;
}

void Optimizer::load_state(const NamedTensors& state) {
  struct Part {
    size_t index;
    std::string name;
    bool is_shaped;
  };
  std::map<std::string, Part, std::less<>> parts;
  for (size_t index = 0; index < vars_.size(); ++index) {
    for (const auto& [name, is_shaped] : state_names(index)) parts.emplace(fmt::format("{}.{}", index, name), Part{index, name, is_shaped});
    if (has_master(index)) parts.emplace(fmt::format("{}.master", index), Part{index, "master", true});
  }
  std::vector<State> states(vars_.size());
  for (const auto& [name, tensor] : state) {
    const auto part = parts.find(name);
    if (part == parts.end()) {
      fail(ErrorCode::invalid_argument, "load_state: '{}' is not of this optimizer, which has {} variables", name, vars_.size());
    }
    const auto& [index, short_name, is_shaped] = part->second;
    const Tensor& var = vars_[index].tensor();
    const Shape shape = is_shaped ? var.shape() : Shape{};
    if (tensor.shape() != shape) {
      fail(ErrorCode::shape_mismatch, "load_state: '{}' is {}, not {}", name, tensor.shape().to_string(), shape.to_string());
    }
    states[index].emplace(
        short_name, is_shaped ? tensor.to_device(var.device()).to_dtype(has_master(index) ? DType::f32 : var.dtype()).copy() : tensor);
  }
  for (const auto& [name, part] : parts) {
    const State& of_variable = states[part.index];
    if (!of_variable.empty() && !of_variable.contains(part.name)) {
      fail(ErrorCode::invalid_argument, "load_state: '{}' is missing", name);
    }
  }
  masters_.clear();
  for (size_t index = 0; index < states.size(); ++index) {
    if (const auto master = states[index].extract("master")) masters_.emplace(index, master.mapped());
    set_state(index, states[index]);
  }
}

Tensor sgd_step(const Tensor& weights, const Tensor& gradient, std::optional<Tensor>& momentum, const SgdConfig& config) {
  Tensor g = config.weight_decay == 0 ? gradient : gradient + weights * config.weight_decay;
  if (config.momentum != 0) {
    momentum = momentum ? *momentum * config.momentum + g * (1 - config.dampening) : g.copy();
    g = config.nesterov ? g + *momentum * config.momentum : *momentum;
  }
  return weights - g * config.learning_rate;
}

size_t Sgd::add_group(std::vector<Var> vars, const SgdConfig& config) {
  check_not_negative("Sgd", "momentum", config.momentum);
  check_not_negative("Sgd", "weight decay", config.weight_decay);
  if (config.nesterov && (config.momentum == 0 || config.dampening != 0)) {
    fail(ErrorCode::invalid_argument, "Sgd: Nesterov's momentum needs a momentum and no dampening, not {} and {}", config.momentum,
         config.dampening);
  }
  const size_t group = add_vars(std::move(vars), config.learning_rate);
  configs_.push_back(config);
  momenta_.resize(this->vars().size());
  return group;
}

std::vector<std::pair<std::string, bool>> Sgd::state_names(size_t index) const {
  if (configs_[group_of(index)].momentum == 0) return {};
  return {{"momentum", true}};
}

Tensor Sgd::moved(size_t index, const Tensor& weights, const Tensor& gradient) {
  SgdConfig config = configs_[group_of(index)];
  config.learning_rate = learning_rate(group_of(index));
  return sgd_step(weights, gradient, momenta_[index], config);
}

Optimizer::State Sgd::state_of(size_t index) const {
  if (!momenta_[index]) return {};
  return {{"momentum", *momenta_[index]}};
}

void Sgd::set_state(size_t index, const State& state) {
  momenta_[index] = state.empty() ? std::nullopt : std::optional(state.at("momentum"));
}

Tensor adam_step(const Tensor& weights, const Tensor& gradient, std::optional<AdamMoments>& moments, const AdamConfig& config,
                 bool decoupled) {
  const bool decays = config.weight_decay != 0;
  const Tensor g = decays && !decoupled ? gradient + weights * config.weight_decay : gradient;
  const Tensor w = decays && decoupled ? weights * (1 - config.learning_rate * config.weight_decay) : weights;
  if (!moments) moments = AdamMoments{g.zeros_like(), g.zeros_like()};
  moments->mean = moments->mean * config.beta1 + g * (1 - config.beta1);
  moments->square = moments->square * config.beta2 + g.sqr() * (1 - config.beta2);
  const auto steps = static_cast<double>(++moments->steps);
  const double mean_correction = 1 - std::pow(config.beta1, steps);
  const double square_correction = 1 - std::pow(config.beta2, steps);
  const Tensor spread = moments->square.sqrt() * (1 / std::sqrt(square_correction)) + config.epsilon;
  return w - moments->mean / spread * (config.learning_rate / mean_correction);
}

size_t Adam::add_group(std::vector<Var> vars, const AdamConfig& config) {
  check_beta("beta1", config.beta1);
  check_beta("beta2", config.beta2);
  check_not_negative("Adam", "epsilon", config.epsilon);
  check_not_negative("Adam", "weight decay", config.weight_decay);
  const size_t group = add_vars(std::move(vars), config.learning_rate);
  configs_.push_back(config);
  moments_.resize(this->vars().size());
  return group;
}

std::vector<std::pair<std::string, bool>> Adam::state_names(size_t) const { return {{"mean", true}, {"square", true}, {"steps", false}}; }

Tensor Adam::moved(size_t index, const Tensor& weights, const Tensor& gradient) {
  AdamConfig config = configs_[group_of(index)];
  config.learning_rate = learning_rate(group_of(index));
  return adam_step(weights, gradient, moments_[index], config, decoupled_);
}

Optimizer::State Adam::state_of(size_t index) const {
  const std::optional<AdamMoments>& moments = moments_[index];
  if (!moments) return {};
  const Tensor steps = Tensor::from_vector(std::vector<int64_t>{moments->steps}, {}, moments->mean.device());
  return {{"mean", moments->mean}, {"square", moments->square}, {"steps", steps}};
}

void Adam::set_state(size_t index, const State& state) {
  moments_[index].reset();
  if (!state.empty()) moments_[index] = AdamMoments{state.at("mean"), state.at("square"), state.at("steps").to_scalar<int64_t>()};
}

}  // namespace wick::nn
