// The ops of the goldens by name, each as one call of the public API.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "wick/tensor/tensor.h"

namespace wick::goldens {

using Tensors = std::vector<Tensor>;
using Run = std::function<Tensors(const nlohmann::json& parameters, const Tensors& inputs)>;
using OpTable = std::unordered_map<std::string_view, Run>;

void add_elementwise_ops(OpTable& table);
void add_reduce_ops(OpTable& table);
void add_index_ops(OpTable& table);
void add_move_ops(OpTable& table);
void add_product_ops(OpTable& table);
void add_network_ops(OpTable& table);

// nullptr for an unknown one.
[[nodiscard]] const Run* find_op(std::string_view name);

}  // namespace wick::goldens
