#include "goldens/ops.h"
#include "wick/tensor/ops/einsum.h"

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
  table["einsum"] = [](const json& p, const Tensors& in) { return Tensors{einsum(p["equation"].get<std::string>(), std::span(in))}; };
  table["conv1d"] = [](const json& p, const Tensors& in) {
    return Tensors{in[0].conv1d(in[1], p["padding"], p["stride"], p["dilation"], p["groups"])};
  };
  table["conv2d"] = [](const json& p, const Tensors& in) {
    return Tensors{in[0].conv2d(in[1], p["padding"], p["stride"], p["dilation"], p["groups"])};
  };
  table["conv_transpose1d"] = [](const json& p, const Tensors& in) {
    return Tensors{in[0].conv_transpose1d(in[1], p["padding"], p["output_padding"], p["stride"], p["dilation"], p["groups"])};
  };
  table["conv_transpose2d"] = [](const json& p, const Tensors& in) {
    return Tensors{in[0].conv_transpose2d(in[1], p["padding"], p["output_padding"], p["stride"], p["dilation"], p["groups"])};
  };
  table["avg_pool2d"] = [](const json& p, const Tensors& in) {
    return Tensors{in[0].avg_pool2d(p["kernel"].get<Pair>(), p["stride"].get<Pair>())};
  };
  table["max_pool2d"] = [](const json& p, const Tensors& in) {
    return Tensors{in[0].max_pool2d(p["kernel"].get<Pair>(), p["stride"].get<Pair>())};
  };
  table["upsample_nearest1d"] = [](const json& p, const Tensors& in) { return Tensors{in[0].upsample_nearest1d(p["size"][0])}; };
  table["upsample_nearest2d"] = [](const json& p, const Tensors& in) {
    return Tensors{in[0].upsample_nearest2d(p["size"][0], p["size"][1])};
  };
  table["upsample_bilinear2d"] = [](const json& p, const Tensors& in) {
    return Tensors{in[0].upsample_bilinear2d(p["size"][0], p["size"][1], p["align_corners"])};
  };
  table["upsample_bilinear2d_with_scale"] = [](const json& p, const Tensors& in) {
    return Tensors{in[0].upsample_bilinear2d_with_scale(p["scales"][0], p["scales"][1], p["align_corners"])};
  };
}

}  // namespace wick::goldens
