#include "wick/kernels/elementwise.h"

#include <fmt/format.h>

#include "wick/kernels/group_options.h"
#include "wick/kernels/numbers.h"
#include "wick/kernels/strided.h"

namespace wick::kernels {

using namespace ir;

Kernel elementwise(const Elementwise& op, uint32_t width, const DeviceCaps& caps) {
  KernelBuilder k(op.name + (width > 1 ? "_quads" : ""), {.group_size = group_options(caps, 256).group_size});
  std::vector<Memory> x;
  for (size_t i = 0; i < op.inputs.size(); ++i)
    x.push_back(k.buffer(fmt::format("x{}", i), width > 1 ? quad_element_of(op.inputs[i]) : element_of(op.inputs[i])));
  const Memory y = k.output("y", width > 1 ? quad_element_of(op.output) : element_of(op.output));
  StridedGrid grid(k, 4);
  std::vector<StridedGrid::View> views;
  for (size_t i = 0; i < x.size(); ++i) views.push_back(grid.view(fmt::format("x{}", i)));
  const StridedGrid::View target = grid.view("y");
  std::vector<Value> parameters;
  for (uint32_t i = 0; i < op.parameters; ++i) parameters.push_back(wide_parameter(k, fmt::format("p{}", i), op.parameter_type));
  grid.run([&](const StridedGrid::Place& place) {
    std::vector<Value> numbers(x.size());
    if (width == 1) {
      for (size_t i = 0; i < x.size(); ++i) numbers[i] = load_number(x[i], op.inputs[i], place(views[i]));
      return store_number(y, op.output, place(target), op.function(numbers, parameters));
    }
    std::vector<Quad> quads;
    for (size_t i = 0; i < x.size(); ++i) quads.push_back(load_quad(x[i], op.inputs[i], place(views[i])));
    Quad results;
    for (size_t lane = 0; lane < 4; ++lane) {
      for (size_t i = 0; i < x.size(); ++i) numbers[i] = quads[i][lane];
      results[lane] = op.function(numbers, parameters);
    }
    store_quad(y, op.output, place(target), results);
  });
  return k.finish();
}

}  // namespace wick::kernels
