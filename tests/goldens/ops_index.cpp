#include "goldens/ops.h"

namespace wick::goldens {

using nlohmann::json;

void add_index_ops(OpTable& table) {
  table["index_select"] = [](const json& p, const Tensors& in) { return Tensors{in[0].index_select(in[1], p["dim"])}; };
  table["gather"] = [](const json& p, const Tensors& in) { return Tensors{in[0].gather(in[1], p["dim"])}; };
  table["scatter"] = [](const json& p, const Tensors& in) { return Tensors{in[0].scatter(in[1], in[2], p["dim"])}; };
  table["scatter_add"] = [](const json& p, const Tensors& in) { return Tensors{in[0].scatter_add(in[1], in[2], p["dim"])}; };
  table["index_add"] = [](const json& p, const Tensors& in) { return Tensors{in[0].index_add(in[1], in[2], p["dim"])}; };
  table["embedding"] = [](const json& /*p*/, const Tensors& in) { return Tensors{in[0].embedding(in[1])}; };
}

}  // namespace wick::goldens
