#include "goldens/golden.h"
#include "goldens/ops.h"
#include "wick/tensor/display.h"

namespace wick::goldens {
namespace {

using nlohmann::json;

// The elements as text, without the line of shape and dtype behind them.
Tensors display(const json& /*p*/, const Tensors& in) {
  const std::string text = to_string(in[0]);
  const std::string elements = text.substr(0, text.rfind('\n'));
  const auto* bytes = reinterpret_cast<const uint8_t*>(elements.data());
  return {Tensor::from_span(std::span(bytes, elements.size()), {static_cast<int64_t>(elements.size())}, in[0].device())};
}

}  // namespace

void add_move_ops(OpTable& table) {
  table["cat"] = [](const json& p, const Tensors& in) { return Tensors{Tensor::cat(std::span(in), p["dim"])}; };
  table["stack"] = [](const json& p, const Tensors& in) { return Tensors{Tensor::stack(std::span(in), p["dim"])}; };
  table["chunk"] = [](const json& p, const Tensors& in) { return in[0].chunk(p["count"], p["dim"]); };
  table["pad_with_zeros"] = [](const json& p, const Tensors& in) { return Tensors{in[0].pad_with_zeros(p["dim"], p["left"], p["right"])}; };
  table["pad_with_same"] = [](const json& p, const Tensors& in) { return Tensors{in[0].pad_with_same(p["dim"], p["left"], p["right"])}; };
  table["roll"] = [](const json& p, const Tensors& in) { return Tensors{in[0].roll(p["shift"], p["dim"])}; };
  table["flip"] = [](const json& p, const Tensors& in) { return Tensors{in[0].flip(Dims(p["dims"].get<std::vector<int>>()))}; };
  table["unfold"] = [](const json& p, const Tensors& in) { return Tensors{in[0].unfold(p["dim"], p["size"], p["step"])}; };
  table["repeat"] = [](const json& p, const Tensors& in) { return Tensors{in[0].repeat(shape_of(p["times"]))}; };
  table["tril"] = [](const json& p, const Tensors& in) { return Tensors{in[0].tril(p["diagonal"])}; };
  table["triu"] = [](const json& p, const Tensors& in) { return Tensors{in[0].triu(p["diagonal"])}; };
  table["meshgrid"] = [](const json& p, const Tensors& in) { return Tensor::meshgrid(std::span(in), p["xy"]); };
  table["reshape"] = [](const json& p, const Tensors& in) { return Tensors{in[0].reshape(shape_of(p["shape"]))}; };
  table["display"] = display;
  table["contiguous"] = [](const json& /*p*/, const Tensors& in) { return Tensors{in[0].contiguous()}; };
}

}  // namespace wick::goldens
