#include "goldens/ops.h"
#include "wick/tensor/ops/unary.h"

namespace wick::goldens {
namespace {

using nlohmann::json;

Run unary_of(Tensor (Tensor::*function)() const) {
  return [function](const json& /*p*/, const Tensors& in) { return Tensors{(in[0].*function)()}; };
}

Run unary_kind(UnaryKind kind) {
  return [kind](const json& /*p*/, const Tensors& in) { return Tensors{unary({.kind = kind}, in[0])}; };
}

Run binary_of(Tensor (Tensor::*function)(const Tensor&) const) {
  return [function](const json& /*p*/, const Tensors& in) { return Tensors{(in[0].*function)(in[1])}; };
}

Run compare_of(CompareKind kind) {
  return [kind](const json& /*p*/, const Tensors& in) { return Tensors{in[0].compare(kind, in[1])}; };
}

}  // namespace

void add_elementwise_ops(OpTable& table) {
  table["neg"] = unary_of(&Tensor::neg);
  table["abs"] = unary_of(&Tensor::abs);
  table["sign"] = unary_of(&Tensor::sign);
  table["floor"] = unary_of(&Tensor::floor);
  table["ceil"] = unary_of(&Tensor::ceil);
  table["round"] = unary_of(&Tensor::round);
  table["sqr"] = unary_of(&Tensor::sqr);
  table["sqrt"] = unary_of(&Tensor::sqrt);
  table["rsqrt"] = unary_of(&Tensor::rsqrt);
  table["recip"] = unary_of(&Tensor::recip);
  table["exp"] = unary_of(&Tensor::exp);
  table["log"] = unary_of(&Tensor::log);
  table["sin"] = unary_of(&Tensor::sin);
  table["cos"] = unary_of(&Tensor::cos);
  table["tanh"] = unary_of(&Tensor::tanh);
  table["erf"] = unary_of(&Tensor::erf);
  table["sigmoid"] = unary_of(&Tensor::sigmoid);
  table["silu"] = unary_of(&Tensor::silu);
  table["relu"] = unary_of(&Tensor::relu);
  table["gelu"] = unary_of(&Tensor::gelu);
  table["gelu_erf"] = unary_of(&Tensor::gelu_erf);
  table["softplus"] = unary_kind(UnaryKind::softplus);
  table["mish"] = unary_kind(UnaryKind::mish);
  table["hard_sigmoid"] = unary_kind(UnaryKind::hard_sigmoid);
  table["hard_swish"] = unary_kind(UnaryKind::hard_swish);
  table["relu6"] = [](const json& /*p*/, const Tensors& in) { return Tensors{in[0].clamp(0, 6)}; };
  table["leaky_relu"] = [](const json& p, const Tensors& in) {
    return Tensors{unary({.kind = UnaryKind::leaky_relu, .a = p["slope"].get<double>()}, in[0])};
  };
  table["elu"] = [](const json& p, const Tensors& in) { return Tensors{in[0].elu(p["alpha"])}; };
  table["powf"] = [](const json& p, const Tensors& in) { return Tensors{in[0].powf(p["exponent"])}; };
  table["affine"] = [](const json& p, const Tensors& in) { return Tensors{in[0].affine(p["mul"], p["add"])}; };
  table["clamp"] = [](const json& p, const Tensors& in) { return Tensors{in[0].clamp(p["min"].get<double>(), p["max"].get<double>())}; };

  table["add"] = binary_of(&Tensor::add);
  table["sub"] = binary_of(&Tensor::sub);
  table["mul"] = binary_of(&Tensor::mul);
  table["div"] = binary_of(&Tensor::div);
  table["pow"] = binary_of(&Tensor::pow);
  table["minimum"] = binary_of(static_cast<Tensor (Tensor::*)(const Tensor&) const>(&Tensor::minimum));
  table["maximum"] = binary_of(static_cast<Tensor (Tensor::*)(const Tensor&) const>(&Tensor::maximum));

  table["eq"] = compare_of(CompareKind::eq);
  table["ne"] = compare_of(CompareKind::ne);
  table["le"] = compare_of(CompareKind::le);
  table["ge"] = compare_of(CompareKind::ge);
  table["lt"] = compare_of(CompareKind::lt);
  table["gt"] = compare_of(CompareKind::gt);
  table["where_cond"] = [](const json& /*p*/, const Tensors& in) { return Tensors{in[0].where_cond(in[1], in[2])}; };
  table["to_dtype"] = [](const json& p, const Tensors& in) {
    return Tensors{in[0].to_dtype(parse_dtype(p["dtype"].get<std::string>()).value())};
  };
}

}  // namespace wick::goldens
