#include "wick/kernels/normalize.h"

#include <fmt/format.h>

#include "wick/kernels/math.h"
#include "wick/kernels/math_detail.h"
#include "wick/kernels/numbers.h"

namespace wick::kernels {

using namespace ir;

namespace {

std::string name_of(std::string_view what, std::string_view dtypes, RowLanes lanes, const ir::KernelOptions& options) {
  return fmt::format("{}_{}{}", what, dtypes, row_suffix(lanes, options));
}

// Its operands' dtype, and that of its norms where it is another.
std::string dtypes_of(DType dtype, DType result) {
  return result == dtype ? std::string(to_string(dtype)) : fmt::format("{}_{}", to_string(dtype), to_string(result));
}

ir::Element weight_element(DType dtype) { return dtype == DType::f64 ? ir::Element::f64 : ir::Element::f32; }

}  // namespace

Kernel softmax(DType dtype, bool log, RowLanes lanes, const DeviceCaps& caps) {
  const ir::KernelOptions options = row_options(lanes, caps);
  KernelBuilder k(name_of(log ? "log_softmax" : "softmax", to_string(dtype), lanes, options), options);
  const Memory x = k.buffer("x", element_of(dtype)), y = k.output("y", element_of(dtype));
  RowWalk row(k, lanes);
  const Value first = k.parameter("first", Type::u32);
  const Type type = compute_type(dtype);
  GroupReduce group(k, type);
  const auto at = [&](const Value& column) { return load_number(x, dtype, row.place(column)); };
  row.run([&] {
    const Value lowest = type == Type::f64 ? k.number_of(type, -0x1.fffffffffffffp+1023, 0) : k.lowest();
    const Value largest = row.reduce(group, Reduce::maximum, lowest, at);
    const auto weight = [&](const Value& column) {
      const Value distance = at(column) - largest;
      return type == Type::f64 ? select(is_nan(distance), distance, exp(distance)) : detail::exp_of_negative(distance);
    };
    const Value sum = row.reduce(group, Reduce::add, k.number_of(type, 0, 0), weight);
    const Value begin = first + row.number() * row.columns();
    const Value logarithm = log ? select(is_nan(sum), sum, kernels::log(sum)) : sum;
    row.each([&](const Value& column) {
      store_number(y, dtype, begin + column, log ? at(column) - largest - logarithm : weight(column) / sum);
    });
  });
  return k.finish();
}

Kernel rms_norm(DType dtype, DType result, RowLanes lanes, const DeviceCaps& caps) {
  const ir::KernelOptions options = row_options(lanes, caps);
  KernelBuilder k(name_of("rms_norm", dtypes_of(dtype, result), lanes, options), options);
  const Memory x = k.buffer("x", element_of(dtype)), weight = k.buffer("weight", weight_element(dtype)),
               y = k.output("y", element_of(result));
  RowWalk row(k, lanes);
  const Value first = k.parameter("first", Type::u32), weight_first = k.parameter("weight_first", Type::u32);
  const Type type = compute_type(dtype);
  const Value epsilon = cast(type, k.parameter("epsilon", Type::f32));
  GroupReduce group(k, type);
  const auto at = [&](const Value& column) { return load_number(x, dtype, row.place(column)); };
  row.run([&] {
    const Value squares =
        row.reduce(group, Reduce::add, k.number_of(type, 0, 0), [&](const Value& column) { return at(column) * at(column); });
    const Value scale = 1.0 / ir::native_sqrt(squares / cast(type, row.columns()) + epsilon);
    const Value begin = first + row.number() * row.columns();
    row.each([&](const Value& column) { store_number(y, result, begin + column, at(column) * scale * weight[weight_first + column]); });
  });
  return k.finish();
}

Kernel add_rms_norm(DType dtype, DType result, uint32_t width, RowLanes lanes, const DeviceCaps& caps) {
  const ir::KernelOptions options = row_options(lanes, caps);
  KernelBuilder k(name_of(width == 4 ? "add_rms_norm_quads" : "add_rms_norm", dtypes_of(dtype, result), lanes, options), options);
  const auto element_for = [&](DType of) { return width == 4 ? quad_element_of(of) : element_of(of); };
  const ir::Element element = element_for(dtype);
  const Memory x = k.buffer("x", element), y = k.buffer("y", element), weight = k.buffer("weight", weight_element(dtype)),
               sum = k.output("sum", element), norm = k.output("norm", element_for(result));
  RowWalk row(k, lanes);
  const Value y_first = k.parameter("y_first", Type::u32), weight_first = k.parameter("weight_first", Type::u32);
  const Value sum_first = k.parameter("sum_first", Type::u32), norm_first = k.parameter("norm_first", Type::u32);
  const Type type = compute_type(dtype);
  const Value epsilon = cast(type, k.parameter("epsilon", Type::f32));
  GroupReduce group(k, type);
  // The first `width` of them count.
  const auto load = [&](const Memory& memory, DType of, const Value& unit) {
    if (width == 4) return load_quad(memory, of, unit);
    const Value one = load_number(memory, of, unit);
    return Quad{one, one, one, one};
  };
  const auto store = [&](const Memory& memory, DType of, const Value& unit, const Quad& numbers) {
    if (width == 4) return store_quad(memory, of, unit, numbers);
    store_number(memory, of, unit, numbers[0]);
  };
  row.run([&] {
    const Value begin = row.number() * row.columns();
    const auto at = [&](const Value& unit) {
      const Quad a = load(x, dtype, row.place(unit)), b = load(y, dtype, y_first + begin + unit);
      return Quad{a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]};
    };
    const Value squares = row.reduce(group, Reduce::add, k.number_of(type, 0, 0), [&](const Value& unit) {
      const Quad total = at(unit);
      store(sum, dtype, sum_first + begin + unit, total);
      Value square = total[0] * total[0];
      for (uint32_t i = 1; i < width; ++i) square = square + total[i] * total[i];
      return square;
    });
    const Value scale = 1.0 / ir::native_sqrt(squares / cast(type, row.columns() * width) + epsilon);
    row.each([&](const Value& unit) {
      const Quad total = at(unit), factor = load(weight, type == Type::f64 ? DType::f64 : DType::f32, weight_first + unit);
      Quad normed;
      for (uint32_t i = 0; i < 4; ++i) normed[i] = total[i] * scale * factor[i];
      store(norm, result, norm_first + begin + unit, normed);
    });
  });
  return k.finish();
}

Kernel add_rms_norm_held(DType result, uint32_t held, RowLanes lanes, const DeviceCaps& caps) {
  const ir::KernelOptions options = row_options(lanes, caps);
  KernelBuilder k(fmt::format("add_rms_norm_held{}{}{}", held, result == DType::f32 ? "" : fmt::format("_{}", to_string(result)),
                              row_suffix(lanes, options)),
                  options);
  const Memory x = k.buffer("x", ir::Element::f32), y = k.buffer("y", ir::Element::f32), weight = k.buffer("weight", ir::Element::f32),
               sum = k.output("sum", ir::Element::f32), norm = k.output("norm", quad_element_of(result));
  RowWalk row(k, lanes);
  const Value y_first = k.parameter("y_first", Type::u32), weight_first = k.parameter("weight_first", Type::u32);
  const Value sum_first = k.parameter("sum_first", Type::u32), norm_first = k.parameter("norm_first", Type::u32);
  const Value epsilon = k.parameter("epsilon", Type::f32);
  GroupReduce group(k);
  row.run([&] {
    const Value begin = row.number() * row.columns();
    std::vector<Value> units, exist;
    std::vector<Quad> totals;
    for (uint32_t i = 0; i < held; ++i) {
      units.push_back(k.local_id() + i * options.group_size);
      exist.push_back(units[i] < row.columns());
      const ir::Vector a = x.load4_if(exist[i], row.place(units[i]) * 4U, 0.0F),
                       b = y.load4_if(exist[i], (y_first + begin + units[i]) * 4U, 0.0F);
      totals.push_back({a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]});
    }
    Value squares = k.constant(0.0F);
    for (uint32_t i = 0; i < held; ++i) {
      Value square = totals[i][0] * totals[i][0];
      for (uint32_t j = 1; j < 4; ++j) square = square + totals[i][j] * totals[i][j];
      squares = squares + square;
      k.when(exist[i], [&] { store_quad(sum, DType::f32, sum_first + begin + units[i], totals[i]); });
    }
    const Value scale = 1.0F / sqrt(row.together(group, Reduce::add, squares) / cast(Type::f32, row.columns() * 4U) + epsilon);
    for (uint32_t i = 0; i < held; ++i) {
      k.when(exist[i], [&] {
        const Quad factor = load_quad(weight, DType::f32, weight_first + units[i]);
        Quad normed;
        for (uint32_t j = 0; j < 4; ++j) normed[j] = totals[i][j] * scale * factor[j];
        store_quad(norm, result, norm_first + begin + units[i], normed);
      });
    }
  });
  return k.finish();
}

Kernel layer_norm(DType dtype, RowLanes lanes, const DeviceCaps& caps) {
  const ir::KernelOptions options = row_options(lanes, caps);
  KernelBuilder k(name_of("layer_norm", to_string(dtype), lanes, options), options);
  const Memory x = k.buffer("x", element_of(dtype)), weight = k.buffer("weight", weight_element(dtype)),
               bias = k.buffer("bias", weight_element(dtype)), y = k.output("y", element_of(dtype));
  RowWalk row(k, lanes);
  const Value first = k.parameter("first", Type::u32), weight_first = k.parameter("weight_first", Type::u32);
  const Value bias_first = k.parameter("bias_first", Type::u32);
  const Type type = compute_type(dtype);
  const Value epsilon = cast(type, k.parameter("epsilon", Type::f32));
  GroupReduce group(k, type);
  const auto at = [&](const Value& column) { return load_number(x, dtype, row.place(column)); };
  row.run([&] {
    const Value count = cast(type, row.columns());
    const Value mean = row.reduce(group, Reduce::add, k.number_of(type, 0, 0), at) / count;
    // Squares of differences, which do not cancel as Σ x² - (Σ x)² / n would.
    const Value squares = row.reduce(group, Reduce::add, k.number_of(type, 0, 0), [&](const Value& column) {
      const Value difference = at(column) - mean;
      return difference * difference;
    });
    const Value scale = 1.0 / ir::native_sqrt(squares / count + epsilon);
    const Value begin = first + row.number() * row.columns();
    row.each([&](const Value& column) {
      store_number(y, dtype, begin + column, (at(column) - mean) * scale * weight[weight_first + column] + bias[bias_first + column]);
    });
  });
  return k.finish();
}

}  // namespace wick::kernels
