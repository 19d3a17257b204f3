// wick.ir: the kernel builder. What ir/builder.h writes with C++'s operators, Python writes with its own; bodies of loops and conditions
// are functions that decorate.
#include <fmt/format.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "array.h"
#include "kernels.h"
#include "wick/kernels/group_reduce.h"

namespace wick_python {
namespace {

namespace ir = wick::ir;
namespace kernels = wick::kernels;

// A builder that knows whether its kernel was taken, or left in the middle of a body: values of it are of no use then.
struct Builder {
  explicit Builder(const std::string& name, const ir::KernelOptions& options) : builder(name, options) {}

  ir::KernelBuilder builder;
  std::optional<wick::kernels::GroupReduce> reduce = {};
  bool is_finished = false;
  bool is_broken = false;
  int open_bodies = 0;
};
using BuilderPointer = std::shared_ptr<Builder>;

struct Value {
  BuilderPointer builder;
  ir::Value value;
};
struct LaneVariable {
  BuilderPointer builder;
  ir::Variable variable;
};
struct Memory {
  BuilderPointer builder;
  ir::Memory memory;
};

ir::KernelBuilder& open(const BuilderPointer& builder) {
  if (builder->is_finished) throw nb::value_error("the kernel is finished: begin another KernelBuilder");
  if (builder->is_broken) throw nb::value_error("an exception has left a body of this kernel: begin another KernelBuilder");
  return builder->builder;
}

template <class Row, size_t kCount>
int row_of(const std::string& name, const std::array<Row, kCount>& rows, const char* what) {
  std::string known;
  for (size_t i = 0; i < kCount; ++i) {
    if (rows[i].name == name) return static_cast<int>(i);
    known += fmt::format("{}{}", i == 0 ? "" : ", ", rows[i].name);
  }
  throw nb::value_error(fmt::format("there is no {} '{}'; there are {}", what, name, known).c_str());
}

ir::Type type_of(const std::string& name) { return static_cast<ir::Type>(row_of(name, ir::kTypes, "type")); }

template <class Enumerator>
struct NamedEnumerator {
  std::string_view name;
  Enumerator value;
};
constexpr std::array kAtomics = {NamedEnumerator{"add", ir::AtomicOp::add},         NamedEnumerator{"minimum", ir::AtomicOp::minimum},
                                 NamedEnumerator{"maximum", ir::AtomicOp::maximum}, NamedEnumerator{"bit_and", ir::AtomicOp::bit_and},
                                 NamedEnumerator{"bit_or", ir::AtomicOp::bit_or},   NamedEnumerator{"exchange", ir::AtomicOp::exchange}};
constexpr std::array kReductions = {NamedEnumerator{"add", ir::Reduce::add}, NamedEnumerator{"minimum", ir::Reduce::minimum},
                                    NamedEnumerator{"maximum", ir::Reduce::maximum}};

ir::Reduce reduce_of(const std::string& name) { return kReductions[static_cast<size_t>(row_of(name, kReductions, "reduction"))].value; }

// A value, a variable or a number, of the kernel that `builder` writes.
ir::Operand operand(const BuilderPointer& builder, nb::handle object) {
  (void)open(builder);
  const auto own = [&](const BuilderPointer& other) {
    if (other != builder) throw nb::value_error("a value of another kernel; each KernelBuilder has values of its own");
  };
  if (nb::isinstance<Value>(object)) {
    const Value& value = nb::cast<const Value&>(object);
    own(value.builder);
    return value.value;
  }
  if (nb::isinstance<LaneVariable>(object)) {
    const LaneVariable& variable = nb::cast<const LaneVariable&>(object);
    own(variable.builder);
    return variable.variable;
  }
  if (PyBool_Check(object.ptr())) throw nb::type_error("True and False are no numbers in a kernel; compare two values");
  if (PyLong_Check(object.ptr())) return value_as<int64_t>(object, "a number of a kernel");
  if (PyFloat_Check(object.ptr())) return nb::cast<double>(object);
  throw nb::type_error(fmt::format("expected a value, a variable or a number, got {}", wick_python::type_name(object)).c_str());
}

// The same where a number has nothing beside it that would say its type: a float is f32, an int u32.
ir::Value value_of(const BuilderPointer& builder, nb::handle object) {
  const ir::Operand given = operand(builder, object);
  if (given.is_value()) return given.value();
  return given.as(builder->builder, PyFloat_Check(object.ptr()) ? ir::Type::f32 : ir::Type::u32);
}

BuilderPointer builder_of(std::initializer_list<nb::handle> operands) {
  for (const nb::handle object : operands) {
    if (nb::isinstance<Value>(object)) return nb::cast<const Value&>(object).builder;
    if (nb::isinstance<LaneVariable>(object)) return nb::cast<const LaneVariable&>(object).builder;
  }
  throw nb::type_error("a kernel's function of numbers alone: make one of them a constant of the builder");
}

using ValuesFunction = ir::Value (*)(const ir::Operand&, const ir::Operand&);
using ValueFunction = ir::Value (*)(const ir::Value&);

template <ValuesFunction kFunction>
Value binary(nb::handle a, nb::handle b) {
  const BuilderPointer builder = builder_of({a, b});
  return {builder, kFunction(operand(builder, a), operand(builder, b))};
}
template <ValueFunction kFunction>
Value unary(nb::handle a) {
  const BuilderPointer builder = builder_of({a});
  return {builder, kFunction(value_of(builder, a))};
}
ir::Value shift_left(const ir::Operand& a, const ir::Operand& count) { return a.value() << count; }
ir::Value shift_right(const ir::Operand& a, const ir::Operand& count) { return a.value() >> count; }
// wick::kernels has functions of f32 and f64; an f16 is computed in f32.
template <ValueFunction kFunction>
ir::Value in_f32(const ir::Value& a) {
  return a.type() == ir::Type::f16 ? ir::cast(ir::Type::f16, kFunction(ir::cast(ir::Type::f32, a))) : kFunction(a);
}

#define WICK_IR_OPERATOR(name, symbol)                                                                                              \
  cls.def("__" name "__", &binary<static_cast<ValuesFunction>(&ir::operator symbol)>, nb::is_operator(), nb::arg("other"),          \
          nb::sig("def __" name "__(self, other: Operand, /) -> Value"))                                                            \
      .def(                                                                                                                         \
          "__r" name "__",                                                                                                          \
          [](nb::handle self, nb::handle other) { return binary<static_cast<ValuesFunction>(&ir::operator symbol)>(other, self); }, \
          nb::is_operator(), nb::arg("other"), nb::sig("def __r" name "__(self, other: Operand, /) -> Value"))
#define WICK_IR_COMPARISON(name, symbol)                                                                                   \
  cls.def("__" name "__", &binary<static_cast<ValuesFunction>(&ir::operator symbol)>, nb::is_operator(), nb::arg("other"), \
          nb::sig("def __" name "__(self, other: Operand, /) -> Value"))

// The operators that values and variables share.
template <class Class>
void bind_value_operators(nb::class_<Class>& cls) {
  WICK_IR_OPERATOR("add", +);
  WICK_IR_OPERATOR("sub", -);
  WICK_IR_OPERATOR("mul", *);
  WICK_IR_OPERATOR("truediv", /);
  WICK_IR_OPERATOR("floordiv", /);
  WICK_IR_OPERATOR("mod", %);
  WICK_IR_OPERATOR("and", &);
  WICK_IR_OPERATOR("or", |);
  WICK_IR_OPERATOR("xor", ^);
  WICK_IR_COMPARISON("lt", <);
  WICK_IR_COMPARISON("le", <=);
  WICK_IR_COMPARISON("gt", >);
  WICK_IR_COMPARISON("ge", >=);
  cls.def("__eq__", &binary<static_cast<ValuesFunction>(&ir::operator==)>, nb::is_operator(), nb::arg("other"),
          nb::sig("def __eq__(self, other: Operand, /) -> Value"))
      .def("__ne__", &binary<static_cast<ValuesFunction>(&ir::operator!=)>, nb::is_operator(), nb::arg("other"),
           nb::sig("def __ne__(self, other: Operand, /) -> Value"))
      .def("__lshift__", &binary<&shift_left>, nb::is_operator(), nb::arg("count"),
           nb::sig("def __lshift__(self, count: Operand, /) -> Value"))
      .def("__rshift__", &binary<&shift_right>, nb::is_operator(), nb::arg("count"),
           nb::sig("def __rshift__(self, count: Operand, /) -> Value"))
      .def("__neg__", &unary<static_cast<ValueFunction>(&ir::operator-)>, nb::sig("def __neg__(self) -> Value"))
      .def("__invert__", &unary<static_cast<ValueFunction>(&ir::operator~)>, nb::sig("def __invert__(self) -> Value"))
      .def(
          "__bool__",
          [](nb::handle) -> bool {
            throw nb::type_error("a kernel's value is not known while it is written: use KernelBuilder.when, or ir.select");
          },
          nb::sig("def __bool__(self) -> bool"))
      .def(
          "__hash__", [](nb::handle self) { return reinterpret_cast<intptr_t>(self.ptr()) >> 4; }, nb::sig("def __hash__(self) -> int"))
      .def_prop_ro(
          "type",
          [](nb::handle self) {
            const BuilderPointer builder = builder_of({self});
            return std::string(to_string(value_of(builder, self).type()));
          },
          nb::sig("def type(self) -> str"));
}

void bind_functions_of_values(nb::module_& module) {
  module.def("min", &binary<static_cast<ValuesFunction>(&ir::min)>, nb::sig("def min(a: Operand, b: Operand) -> Value"));
  module.def("max", &binary<static_cast<ValuesFunction>(&ir::max)>, nb::sig("def max(a: Operand, b: Operand) -> Value"));
  module.def("abs", &unary<static_cast<ValueFunction>(&ir::abs)>, nb::sig("def abs(a: Operand) -> Value"), "Of floats.");
  module.def("sqrt", &unary<&in_f32<&kernels::sqrt>>, nb::sig("def sqrt(a: Operand) -> Value"), "NaN below 0.");
  module.def("exp", &unary<&in_f32<&kernels::exp>>, nb::sig("def exp(a: Operand) -> Value"));
  module.def("log", &unary<&in_f32<&kernels::log>>, nb::sig("def log(a: Operand) -> Value"), "-inf at 0, NaN below.");
  module.def("exp2", &unary<&in_f32<&kernels::exp2>>, nb::sig("def exp2(a: Operand) -> Value"));
  module.def("log2", &unary<&in_f32<&kernels::log2>>, nb::sig("def log2(a: Operand) -> Value"), "-inf at 0, NaN below.");
  module.def("sin", &unary<&in_f32<&kernels::sin>>, nb::sig("def sin(a: Operand) -> Value"), "Of every finite number.");
  module.def("trunc", &unary<static_cast<ValueFunction>(&ir::trunc)>, nb::sig("def trunc(a: Operand) -> Value"), "Toward zero.");
  module.def("logical_not", &unary<static_cast<ValueFunction>(&ir::operator!)>, nb::sig("def logical_not(a: Value) -> Value"));
  module.def("unpack_half", &unary<&ir::unpack_half>, nb::sig("def unpack_half(bits: Value) -> Value"));
  module.def(
      "fma",
      [](nb::handle a, nb::handle b, nb::handle c) {
        const BuilderPointer builder = builder_of({a, b, c});
        return Value{builder, ir::fma(operand(builder, a), operand(builder, b), operand(builder, c))};
      },
      nb::sig("def fma(a: Operand, b: Operand, c: Operand) -> Value"), "a · b + c, rounded once.");
  module.def(
      "select",
      [](nb::handle condition, nb::handle yes, nb::handle no) {
        const BuilderPointer builder = builder_of({condition, yes, no});
        return Value{builder, ir::select(value_of(builder, condition), operand(builder, yes), operand(builder, no))};
      },
      nb::sig("def select(condition: Value, yes: Operand, no: Operand) -> Value"), "Both are computed.");
  module.def(
      "cast",
      [](const std::string& type, nb::handle a) {
        const BuilderPointer builder = builder_of({a});
        return Value{builder, ir::cast(type_of(type), operand(builder, a))};
      },
      nb::sig("def cast(type: str, a: Operand) -> Value"));
  module.def(
      "bitcast",
      [](const std::string& type, nb::handle a) {
        const BuilderPointer builder = builder_of({a});
        return Value{builder, ir::bitcast(type_of(type), value_of(builder, a))};
      },
      nb::sig("def bitcast(type: str, a: Operand) -> Value"), "The same bits.");
  module.def(
      "dot4",
      [](nb::handle a, nb::handle b, nb::handle sum) {
        const BuilderPointer builder = builder_of({a, b, sum});
        return Value{builder, ir::dot4(value_of(builder, a), value_of(builder, b), operand(builder, sum))};
      },
      nb::sig("def dot4(a: Value, b: Value, sum: Operand) -> Value"), "sum and the products of four signed bytes each.");
  module.def(
      "subgroup_reduce",
      [](const std::string& reduction, nb::handle a) {
        const BuilderPointer builder = builder_of({a});
        return Value{builder, ir::subgroup_reduce(reduce_of(reduction), value_of(builder, a))};
      },
      nb::sig("def subgroup_reduce(reduction: str, a: Value) -> Value"), "'add', 'minimum' or 'maximum' over a subgroup, in each lane.");
  module.def(
      "subgroup_shuffle_xor",
      [](nb::handle a, uint32_t mask) {
        const BuilderPointer builder = builder_of({a});
        return Value{builder, ir::subgroup_shuffle_xor(value_of(builder, a), mask)};
      },
      nb::sig("def subgroup_shuffle_xor(a: Value, mask: int) -> Value"));
  module.def(
      "subgroup_broadcast",
      [](nb::handle a, uint32_t lane) {
        const BuilderPointer builder = builder_of({a});
        return Value{builder, ir::subgroup_broadcast(value_of(builder, a), lane)};
      },
      nb::sig("def subgroup_broadcast(a: Value, lane: int) -> Value"));
}

void bind_memory(nb::module_& module) {
  nb::class_<Memory>(module, "Memory", "A buffer or a shared array: memory[i] is an element, memory[i] = x a store.")
      .def(
          "__getitem__",
          [](const Memory& self, nb::handle index) { return Value{self.builder, self.memory.load(operand(self.builder, index))}; },
          nb::sig("def __getitem__(self, index: Operand, /) -> Value"))
      .def(
          "__setitem__",
          [](const Memory& self, nb::handle index, nb::handle value) {
            self.memory.store(operand(self.builder, index), operand(self.builder, value));
          },
          nb::sig("def __setitem__(self, index: Operand, value: Operand, /) -> None"))
      .def(
          "load_if",
          [](const Memory& self, nb::handle gate, nb::handle index, nb::handle alternative) {
            return Value{self.builder, self.memory.load_if(value_of(self.builder, gate), operand(self.builder, index),
                                                           operand(self.builder, alternative))};
          },
          nb::sig("def load_if(self, gate: Value, index: Operand, alternative: Operand) -> Value"),
          "The alternative, without touching memory, where the gate is false.")
      .def(
          "store_if",
          [](const Memory& self, nb::handle gate, nb::handle index, nb::handle value) {
            self.memory.store_if(value_of(self.builder, gate), operand(self.builder, index), operand(self.builder, value));
          },
          nb::sig("def store_if(self, gate: Value, index: Operand, value: Operand) -> None"))
      .def(
          "atomic",
          [](const Memory& self, const std::string& op, nb::handle index, nb::handle value) {
            const ir::AtomicOp function = kAtomics[static_cast<size_t>(row_of(op, kAtomics, "atomic operation"))].value;
            return Value{self.builder, self.memory.atomic(function, operand(self.builder, index), operand(self.builder, value))};
          },
          nb::sig("def atomic(self, op: str, index: Operand, value: Operand) -> Value"),
          "'add', 'minimum', 'maximum', 'bit_and', 'bit_or' or 'exchange', indivisibly; what the element held before.");
}

// Runs the body of a statement.
template <class... Arguments>
void write_body(const BuilderPointer& builder, const nb::callable& body, Arguments&&... arguments) {
  ++builder->open_bodies;
  try {
    body(std::forward<Arguments>(arguments)...);
  } catch (...) {
    builder->is_broken = true;
    throw;
  }
  --builder->open_bodies;
}

// A function that a body decorates: it runs the body at once, between the beginning and the end of the statement.
template <class Run>
nb::object decorator(Run run) {
  return nb::cpp_function([run](const nb::callable& body) {
    run(body);
    return nb::borrow(body);
  });
}

void bind_builder_statements(nb::class_<Builder>& builder) {
  builder
      .def(
          "when",
          [](const BuilderPointer& self, nb::handle condition) {
            const ir::Value gate = value_of(self, condition);
            return decorator([self, gate](const nb::callable& body) { open(self).when(gate, [&] { write_body(self, body); }); });
          },
          nb::arg("condition"), nb::sig("def when(self, condition: Value) -> collections.abc.Callable[[typing.Any], typing.Any]"),
          "@k.when(i < n) decorates a function whose statements run where the condition holds.")
      .def(
          "loop",
          [](const BuilderPointer& self, nb::handle begin, nb::handle end, uint32_t step, bool unroll) {
            if (step == 0) throw nb::value_error("loop: step must be 1 or more");
            const ir::Value first = value_of(self, begin);
            const ir::Value last = value_of(self, end);
            return decorator([=](const nb::callable& body) {
              open(self).loop(first, last, step, [&](const ir::Value& index) { write_body(self, body, Value{self, index}); }, unroll);
            });
          },
          nb::arg("begin"), nb::arg("end"), nb::arg("step") = 1, nb::kw_only(), nb::arg("unroll") = false,
          nb::sig("def loop(self, begin: Operand, end: Operand, step: int = 1, *, unroll: bool = False) -> "
                  "collections.abc.Callable[[typing.Any], typing.Any]"),
          "@k.loop(begin, end, step) decorates a function of the index, u32.")
      .def(
          "barrier",
          [](const BuilderPointer& self, bool buffers) {
            open(self).barrier(buffers ? ir::BarrierScope::shared_and_buffers : ir::BarrierScope::shared);
          },
          nb::kw_only(), nb::arg("buffers") = false,
          "Every lane of the group arrives before any goes on, and sees what the others wrote to shared memory; with buffers, to these "
          "too.")
      .def(
          "comment", [](const BuilderPointer& self, const std::string& text) { open(self).comment(text); }, nb::arg("text"))
      .def(
          "group_reduce",
          [](const BuilderPointer& self, const std::string& reduction, nb::handle value) {
            open(self);
            if (!self->reduce) self->reduce.emplace(self->builder);
            return Value{self, (*self->reduce)(reduce_of(reduction), value_of(self, value))};
          },
          nb::arg("reduction"), nb::arg("value"), nb::sig("def group_reduce(self, reduction: str, value: Operand) -> Value"),
          "'add', 'minimum' or 'maximum' of an f32 over the group, in each lane. In uniform control flow.");
}

template <ir::Value (ir::KernelBuilder::*kLeaf)()>
Value leaf_of(const BuilderPointer& self) {
  return {self, (open(self).*kLeaf)()};
}

void bind_builder(nb::module_& module) {
  nb::class_<Builder> builder(module, "KernelBuilder",
                              "Writes a kernel that runs on any device.\n\n"
                              "    k = ir.KernelBuilder('scale', group_size=256)\n"
                              "    x, y = k.buffer('x', 'f32'), k.output('y', 'f32')\n"
                              "    n, factor = k.parameter('n', 'u32'), k.parameter('factor', 'f32')\n"
                              "    i = k.group_id() * 256 + k.local_id()\n"
                              "    @k.when(i < n)\n"
                              "    def _():\n"
                              "        y[i] = x[i] * factor\n"
                              "    scale = wick.Device('cpu').compile(k.finish())\n");
  builder
      .def(
          "__init__",
          [](Builder* self, const std::string& name, uint32_t group_size, uint32_t subgroup_size, bool fast) {
            new (self) Builder(
                name,
                {.group_size = group_size, .subgroup_size = subgroup_size, .math = fast ? ir::MathMode::fast : ir::MathMode::precise});
          },
          nb::arg("name"), nb::kw_only(), nb::arg("group_size") = 1, nb::arg("subgroup_size") = 0, nb::arg("fast") = false,
          "group_size: lanes of a group. subgroup_size: 0 where nothing depends on it. fast: floats may be contracted and reordered.")
      .def(
          "buffer",
          [](const BuilderPointer& self, const std::string& name, const std::string& element, bool writes) {
            return Memory{self, open(self).buffer(name, element_named(element), writes ? ir::Access::read_write : ir::Access::read)};
          },
          nb::arg("name"), nb::arg("element"), nb::kw_only(), nb::arg("writes") = false, "An argument: elements in a tensor's memory.")
      .def(
          "output",
          [](const BuilderPointer& self, const std::string& name, const std::string& element) {
            return Memory{self, open(self).output(name, element_named(element))};
          },
          nb::arg("name"), nb::arg("element"), "A buffer that is written.")
      .def(
          "parameter",
          [](const BuilderPointer& self, const std::string& name, const std::string& type) {
            return Value{self, open(self).parameter(name, type_of(type))};
          },
          nb::arg("name"), nb::arg("type"), "An argument: a number, u32, i32 or f32.")
      .def(
          "shared",
          [](const BuilderPointer& self, const std::string& element, uint32_t count) {
            return Memory{self, open(self).shared(element_named(element), count)};
          },
          nb::arg("element"), nb::arg("count"), "Memory that the lanes of a group share.")
      .def(
          "variable",
          [](const BuilderPointer& self, nb::handle initial) { return LaneVariable{self, open(self).variable(value_of(self, initial))}; },
          nb::arg("initial"), nb::sig("def variable(self, initial: Operand) -> Variable"),
          "A variable of a lane; a float is f32, an int u32. variable.set(x) assigns.")
      .def(
          "constant",
          [](const BuilderPointer& self, nb::handle number, const std::string& type) {
            return Value{self, operand(self, number).as(open(self), type_of(type))};
          },
          nb::arg("number"), nb::arg("type") = "f32", nb::sig("def constant(self, number: float, type: str = 'f32') -> Value"))
      .def("lowest", &leaf_of<&ir::KernelBuilder::lowest>, "The most negative finite f32.")
      .def(
          "group_id", [](const BuilderPointer& self, uint32_t dimension) { return Value{self, open(self).group_id(dimension)}; },
          nb::arg("dimension") = 0)
      .def(
          "group_count", [](const BuilderPointer& self, uint32_t dimension) { return Value{self, open(self).group_count(dimension)}; },
          nb::arg("dimension") = 0)
      .def("local_id", &leaf_of<&ir::KernelBuilder::local_id>, "The lane's index in its group, u32.")
      .def("subgroup_lane", &leaf_of<&ir::KernelBuilder::subgroup_lane>)
      .def("subgroup_id", &leaf_of<&ir::KernelBuilder::subgroup_id>)
      .def(
          "finish",
          [](const BuilderPointer& self) {
            open(self);
            if (self->open_bodies > 0) throw nb::value_error("finish: a body has not come to its end; call it behind the bodies");
            self->is_finished = true;
            return self->builder.finish();
          },
          "The kernel, which devices compile; the builder is of no use then.");
  bind_builder_statements(builder);
}

}  // namespace

ir::Element element_named(const std::string& name) {
  return static_cast<ir::Element>(row_of(name == "f8e4m3" || name == "bool" ? "u8" : name, ir::kElements, "element"));
}

ir::Type parameter_type_named(const std::string& name) { return type_of(name); }

void bind_kernel_builder(nb::module_& module) {
  nb::class_<ir::Kernel>(module, "Kernel", "A finished kernel.")
      .def_ro("name", &ir::Kernel::name)
      .def_ro("group_size", &ir::Kernel::group_size);
  nb::class_<Value> value(module, "Value", "What a lane computes.");
  bind_value_operators(value);
  nb::class_<LaneVariable> variable(module, "Variable", "A variable of a lane; in an expression, its present value.");
  bind_value_operators(variable);
  variable.def(
      "set",
      [](LaneVariable& self, nb::handle value_) {
        const ir::Value now = self.variable;
        self.variable = operand(self.builder, value_).as(open(self.builder), now.type());
      },
      nb::arg("value"), nb::sig("def set(self, value: Operand) -> None"), "Assigns.");
  bind_memory(module);
  bind_builder(module);
  bind_functions_of_values(module);
}

}  // namespace wick_python
