// Layers, losses and optimizers of wick/nn for the package's module nn.
#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>

#include "array.h"
#include "gradients.h"
#include "wick/nn.h"
#include "wick/tensor/checkpoint.h"

namespace wick_python {
namespace {

namespace nn = wick::nn;

std::optional<Tensor> optional_tensor(const std::optional<Array>& x) { return x ? std::optional(x->t) : std::nullopt; }

template <class Function>
void loss(nb::module_& module, const char* name, Function function, const char* doc) {
  module.def(
      name, [function](const Array& x, const Array& target) { return unlocked([&] { return Array{function(x.t, target.t)}; }); },
      nb::arg("x"), nb::arg("target"), doc);
}

template <class Function>
void activation(nb::module_& module, const char* name, Function function) {
  module.def(name, [function](const Array& x) { return unlocked([&] { return Array{function(x.t)}; }); }, nb::arg("x"));
}

enum class Causal { no, lower_right, upper_left };

Causal causal_of(nb::handle causal) {
  if (!PyUnicode_Check(causal.ptr())) return truth_of(causal) ? Causal::lower_right : Causal::no;
  const auto name = nb::cast<std::string>(causal);
  if (name == "lower_right") return Causal::lower_right;
  if (name == "upper_left") return Causal::upper_left;
  throw nb::value_error(("scaled_dot_product_attention: causal is True, False, 'lower_right' or 'upper_left', not '" + name + "'").c_str());
}

void bind_functional(nb::module_& module) {
  loss(module, "cross_entropy", nn::cross_entropy, "The mean of -log softmax(x)[target]: logits [batch, classes], classes [batch].");
  loss(module, "nll_loss", nn::nll, "The same of log-probabilities.");
  loss(module, "mse_loss", nn::mse, "mean((x - target)²); the shapes must be equal.");
  loss(module, "binary_cross_entropy_with_logits", nn::binary_cross_entropy_with_logits, "Targets are in [0, 1].");
  module.def(
      "huber_loss",
      [](const Array& x, const Array& target, double delta) { return unlocked([&] { return Array{nn::huber(x.t, target.t, delta)}; }); },
      nb::arg("x"), nb::arg("target"), nb::arg("delta") = 1.0);
  activation(module, "swiglu", nn::swiglu);
  activation(module, "hard_sigmoid", nn::hard_sigmoid);
  activation(module, "hard_swish", nn::hard_swish);
  activation(module, "mish", nn::mish);
  activation(module, "softplus", nn::softplus);
  module.def(
      "leaky_relu", [](const Array& x, double slope) { return unlocked([&] { return Array{nn::leaky_relu(x.t, slope)}; }); }, nb::arg("x"),
      nb::arg("negative_slope") = 0.01);
  module.def(
      "linear",
      [](const Array& x, const Array& weight, const std::optional<Array>& bias) {
        return unlocked([&] { return Array{nn::Linear(weight.t, optional_tensor(bias)).forward(x.t)}; });
      },
      nb::arg("x"), nb::arg("weight"), nb::arg("bias") = nb::none(), "x · weightᵀ + bias; weight [out, in], float or quantized.");
  module.def(
      "layer_norm",
      [](const Array& x, const Array& weight, const Array& bias, double epsilon) {
        return unlocked([&] {
          if (x.t.dtype() == DType::f64) return Array{nn::layer_norm_slow(x.t, weight.t, bias.t, epsilon)};
          return Array{wick::layer_norm(x.t, weight.t, bias.t, static_cast<float>(epsilon))};
        });
      },
      nb::arg("x"), nb::arg("weight"), nb::arg("bias"), nb::arg("eps") = 1e-5);
  module.def(
      "rms_norm",
      [](const Array& x, const Array& weight, double epsilon) {
        return unlocked([&] {
          if (x.t.dtype() == DType::f64) return Array{nn::rms_norm_slow(x.t, weight.t, epsilon)};
          return Array{wick::rms_norm(x.t, weight.t, static_cast<float>(epsilon))};
        });
      },
      nb::arg("x"), nb::arg("weight"), nb::arg("eps") = 1e-5);
  module.def(
      "group_norm",
      [](const Array& x, int64_t groups, const Array& weight, const Array& bias, double epsilon) {
        return unlocked([&] { return Array{nn::GroupNorm(weight.t, bias.t, groups, epsilon).forward(x.t)}; });
      },
      nb::arg("x"), nb::arg("groups"), nb::arg("weight"), nb::arg("bias"), nb::arg("eps") = 1e-5);
  module.def(
      "dropout", [](const Array& x, double p) { return unlocked([&] { return Array{nn::dropout(x.t, p)}; }); }, nb::arg("x"),
      nb::arg("p") = 0.5, "Elements at random become 0, the others grow by 1 / (1 - p).");
  module.def(
      "scaled_dot_product_attention",
      [](const Array& query, const Array& key, const Array& value, nb::handle causal, double scale, const std::optional<Array>& mask,
         int64_t window, double softcap) {
        const Causal form = causal_of(causal);
        nn::AttentionOptions options{
            .scale = scale, .causal = form != Causal::no, .window = window, .softcap = softcap, .mask = optional_tensor(mask)};
        return unlocked([&] {
          Tensor k = key.t, v = value.t;
          const int64_t queries = query.t.dim(-2), keys = k.dim(-2);
          if (form == Causal::upper_left && queries > keys) {
            throw nb::value_error("scaled_dot_product_attention: causal='upper_left' needs as many keys as queries, or more");
          }
          if (form == Causal::upper_left && queries < keys) {  // no query sees the keys beyond the last query's place
            k = k.narrow(-2, 0, queries);
            v = v.narrow(-2, 0, queries);
            if (options.mask && options.mask->dim(-1) == keys) options.mask = options.mask->narrow(-1, 0, queries);
          }
          return Array{nn::scaled_dot_product_attention(query.t, k, v, options)};
        });
      },
      nb::arg("query"), nb::arg("key"), nb::arg("value"), nb::kw_only(), nb::arg("causal") = false, nb::arg("scale") = 0.0,
      nb::arg("mask") = nb::none(), nb::arg("window") = 0, nb::arg("softcap") = 0.0,
      nb::sig(
          "def scaled_dot_product_attention(query: wick._wick.Tensor, key: wick._wick.Tensor, value: wick._wick.Tensor, *, causal: bool "
          "| str = False, scale: float = 0.0, mask: wick._wick.Tensor | None = None, window: int = 0, softcap: float = 0.0) -> "
          "wick._wick.Tensor"),
      "query [batch, heads, tokens, head_dim], key and value [batch, kv_heads, positions, head_dim]; scale 0: 1 / √head_dim. With fewer "
      "queries than keys, causal=True ('lower_right') takes the queries for the last positions, as a KV cache has them; 'upper_left' for "
      "the first ones, as PyTorch's is_causal does.");
  module.def(
      "rope",
      [](const Array& x, const Array& cos, const Array& sin) { return unlocked([&] { return Array{nn::rope(x.t, cos.t, sin.t)}; }); },
      nb::arg("x"), nb::arg("cos"), nb::arg("sin"), "x [batch, heads, tokens, head_dim]; pairs (i, i + head_dim / 2).");
}

// Batch normalisation keeps running statistics in variables that the caller holds.
Array batch_norm(const Array& x, const Variable& mean, const Variable& variance, const std::optional<Array>& weight,
                 const std::optional<Array>& bias, bool training, double momentum, double epsilon) {
  const nn::BatchNormConfig config{.epsilon = epsilon, .affine = weight.has_value(), .momentum = momentum};
  return unlocked([&] {
    const nn::BatchNorm norm(mean.var, variance.var, optional_tensor(weight), optional_tensor(bias), config);
    return Array{norm.forward_t(x.t, training ? nn::Mode::train : nn::Mode::evaluate)};
  });
}

// The function stays alive for backward, which may drop it on a thread that does not hold the GIL.
Array checkpoint(const nb::callable& function, const std::vector<Array>& inputs) {
  const std::shared_ptr<nb::callable> held(new nb::callable(function), [](nb::callable* object) {
    const nb::gil_scoped_acquire gil;
    delete object;
  });
  const auto run = [held](std::span<const Tensor> tensors) {
    const nb::gil_scoped_acquire gil;
    nb::list arguments;
    for (const Tensor& x : tensors) arguments.append(nb::cast(Array{x}));
    const nb::object made = (*held)(*nb::tuple(arguments));
    if (!nb::isinstance<Array>(made)) throw nb::type_error("checkpoint: the function must return one tensor");
    return nb::cast<const Array&>(made).t;
  };
  std::vector<Tensor> tensors;
  for (const Array& x : inputs) tensors.push_back(x.t);
  return unlocked([&] { return Array{wick::checkpoint(run, tensors)}; });
}

// The new weights and the momentum, if there is one.
std::pair<Array, std::optional<Array>> sgd_step(const Array& weights, const Array& gradient, const std::optional<Array>& kept, double lr,
                                                double momentum, double dampening, double weight_decay, bool nesterov) {
  const nn::SgdConfig config{
      .learning_rate = lr, .momentum = momentum, .dampening = dampening, .weight_decay = weight_decay, .nesterov = nesterov};
  return unlocked([&] {
    std::optional<Tensor> buffer = optional_tensor(kept);
    Array made{nn::sgd_step(weights.t, gradient.t, buffer, config)};
    return std::pair(std::move(made), buffer ? std::optional(Array{*buffer}) : std::nullopt);
  });
}

// The new weights, and the running means of gradients and of their squares. `steps`: how often the variable was moved before.
std::tuple<Array, Array, Array> adam_step(const Array& weights, const Array& gradient, const std::optional<Array>& mean,
                                          const std::optional<Array>& square, int64_t steps, double lr, std::pair<double, double> betas,
                                          double eps, double weight_decay, bool decoupled) {
  const nn::AdamConfig config{
      .learning_rate = lr, .beta1 = betas.first, .beta2 = betas.second, .epsilon = eps, .weight_decay = weight_decay};
  return unlocked([&] {
    std::optional<nn::AdamMoments> moments;
    if (mean && square) moments = nn::AdamMoments{mean->t, square->t, steps};
    Array made{nn::adam_step(weights.t, gradient.t, moments, config, decoupled)};
    return std::tuple(std::move(made), Array{moments->mean}, Array{moments->square});
  });
}

}  // namespace

void bind_nn(nb::module_& module) {
  nb::module_ functional = module.def_submodule("_nn", "Functions of wick.nn.");
  bind_functional(functional);
  functional.def("batch_norm", &batch_norm, nb::arg("x"), nb::arg("running_mean"), nb::arg("running_var"), nb::arg("weight") = nb::none(),
                 nb::arg("bias") = nb::none(), nb::kw_only(), nb::arg("training") = false, nb::arg("momentum") = 0.1,
                 nb::arg("eps") = 1e-5);
  functional.def("checkpoint", &checkpoint, nb::arg("function"), nb::arg("inputs"),
                 nb::sig("def checkpoint(function: collections.abc.Callable[..., wick._wick.Tensor], "
                         "inputs: collections.abc.Sequence[wick._wick.Tensor]) -> wick._wick.Tensor"));
  functional.def("sgd_step", &sgd_step, nb::arg("weights"), nb::arg("gradient"), nb::arg("kept").none(), nb::arg("lr"), nb::arg("momentum"),
                 nb::arg("dampening"), nb::arg("weight_decay"), nb::arg("nesterov"));
  functional.def("adam_step", &adam_step, nb::arg("weights"), nb::arg("gradient"), nb::arg("mean").none(), nb::arg("square").none(),
                 nb::arg("steps"), nb::arg("lr"), nb::arg("betas"), nb::arg("eps"), nb::arg("weight_decay"), nb::arg("decoupled"));
  functional.def(
      "load_mnist",
      [](const std::filesystem::path& folder, bool train, nb::handle device) {
        const Device where = device_of(device, "load_mnist");
        const nn::Dataset data =
            unlocked([&] { return wick::load_mnist(folder, train ? wick::MnistPart::train : wick::MnistPart::test, where); });
        return std::pair(Array{data.inputs()}, Array{data.targets()});
      },
      nb::arg("folder"), nb::arg("train") = true, nb::arg("device") = nb::none(),
      nb::sig("def load_mnist(folder: str | os.PathLike[str], train: bool = True, device: wick._wick.Device | str | None = None) -> "
              "tuple[wick._wick.Tensor, wick._wick.Tensor]"),
      "IDX files, plain or .gz: inputs f32 [n, 1, h, w] in [0, 1], targets u32 [n].");
}

}  // namespace wick_python
