#include "goldens/ops.h"
#include "wick/tensor/ops/normalize.h"

namespace wick::goldens {
namespace {

using nlohmann::json;
using Reduction = Tensor (Tensor::*)(const Dims&) const;
using ArgReduction = Tensor (Tensor::*)(int) const;

Run reduction(Reduction drop, Reduction keep) {
  return [drop, keep](const json& p, const Tensors& in) {
    const Dims dims(p["dims"].get<std::vector<int>>());
    return Tensors{p["keepdim"].get<bool>() ? (in[0].*keep)(dims) : (in[0].*drop)(dims)};
  };
}

Run arg_reduction(ArgReduction drop, ArgReduction keep) {
  return [drop, keep](const json& p, const Tensors& in) {
    const int dim = p["dims"][0];
    return Tensors{p["keepdim"].get<bool>() ? (in[0].*keep)(dim) : (in[0].*drop)(dim)};
  };
}

Tensors log_sum_exp(const json& p, const Tensors& in) {
  const auto dims = p["dims"].get<std::vector<int>>();
  Tensor result = in[0].log_sum_exp(Dims(dims));
  if (p["keepdim"].get<bool>()) {
    for (const int dim : dims) result = result.unsqueeze(dim);  // the dimensions ascend
  }
  return {result};
}

}  // namespace

void add_reduce_ops(OpTable& table) {
  table["sum"] = reduction(&Tensor::sum, &Tensor::sum_keepdim);
  table["mean"] = reduction(&Tensor::mean, &Tensor::mean_keepdim);
  table["var"] = reduction(&Tensor::var, &Tensor::var_keepdim);
  table["min"] = reduction(&Tensor::min, &Tensor::min_keepdim);
  table["max"] = reduction(&Tensor::max, &Tensor::max_keepdim);
  table["argmin"] = arg_reduction(&Tensor::argmin, &Tensor::argmin_keepdim);
  table["argmax"] = arg_reduction(&Tensor::argmax, &Tensor::argmax_keepdim);
  table["log_sum_exp"] = log_sum_exp;
  table["norm"] = [](const json& /*p*/, const Tensors& in) { return Tensors{in[0].norm()}; };
  table["softmax"] = [](const json& p, const Tensors& in) { return Tensors{softmax(in[0], p["dim"])}; };
  table["log_softmax"] = [](const json& p, const Tensors& in) { return Tensors{log_softmax(in[0], p["dim"])}; };
  table["rms_norm"] = [](const json& p, const Tensors& in) { return Tensors{rms_norm(in[0], in[1], p["epsilon"])}; };
  table["layer_norm"] = [](const json& p, const Tensors& in) { return Tensors{layer_norm(in[0], in[1], in[2], p["epsilon"])}; };
}

}  // namespace wick::goldens
