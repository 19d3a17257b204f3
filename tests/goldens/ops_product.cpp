#include "goldens/ops.h"

namespace wick::goldens {
namespace {

using nlohmann::json;
using Pair = std::array<int64_t, 2>;

}  // namespace

void add_product_ops(OpTable& table) {
  table["matmul"] = [](const json& /*p*/, const Tensors& in) { return Tensors{in[0].matmul(in[1])}; };
  table["broadcast_matmul"] = [](const json& /*p*/, const Tensors& in) { return Tensors{in[0].broadcast_matmul(in[1])}; };
  table["dot"] = [](const json& /*p*/, const Tensors& in) { return Tensors{in[0].dot(in[1])}; };
  table["mv"] = [](const json& /*p*/, const Tensors& in) { return Tensors{in[0].mv(in[1])}; };
}

}  // namespace wick::goldens
