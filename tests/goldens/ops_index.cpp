#include "goldens/ops.h"

namespace wick::goldens {

using nlohmann::json;

void add_index_ops(OpTable& table) {
  table["index_select"] = [](const json& p, const Tensors& in) { return Tensors{in[0].index_select(in[1], p["dim"])}; };
  table["cumsum"] = [](const json& p, const Tensors& in) { return Tensors{in[0].cumsum(p["dim"])}; };
  table["sort"] = [](const json& p, const Tensors& in) {
    const auto [values, indices] = in[0].sort_last_dim(p["ascending"]);
    return Tensors{values, indices};
  };
  table["argsort"] = [](const json& p, const Tensors& in) { return Tensors{in[0].arg_sort_last_dim(p["ascending"])}; };
  table["topk"] = [](const json& p, const Tensors& in) {
    const auto [values, indices] = in[0].topk(p["k"], -1, p["largest"]);
    return Tensors{values, indices};
  };
  table["rand"] = [](const json& p, const Tensors& in) {
    in[0].device().set_seed(p["seed"]);
    (void)Tensor::rand(0, 1, {p["before"].get<int64_t>()}, DType::f32, in[0].device());
    return Tensors{Tensor::rand(p["low"], p["high"], {p["count"].get<int64_t>()}, in[0].dtype(), in[0].device())};
  };
  table["randn"] = [](const json& p, const Tensors& in) {
    in[0].device().set_seed(p["seed"]);
    (void)Tensor::rand(0, 1, {p["before"].get<int64_t>()}, DType::f32, in[0].device());
    return Tensors{Tensor::randn(p["mean"], p["deviation"], {p["count"].get<int64_t>()}, in[0].dtype(), in[0].device())};
  };
  table["gather"] = [](const json& p, const Tensors& in) { return Tensors{in[0].gather(in[1], p["dim"])}; };
  table["scatter"] = [](const json& p, const Tensors& in) { return Tensors{in[0].scatter(in[1], in[2], p["dim"])}; };
  table["scatter_add"] = [](const json& p, const Tensors& in) { return Tensors{in[0].scatter_add(in[1], in[2], p["dim"])}; };
  table["index_add"] = [](const json& p, const Tensors& in) { return Tensors{in[0].index_add(in[1], in[2], p["dim"])}; };
  table["embedding"] = [](const json& /*p*/, const Tensors& in) { return Tensors{in[0].embedding(in[1])}; };
}

}  // namespace wick::goldens
