// Variables and their gradients.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <unordered_map>

#include "array.h"
#include "gradients.h"

namespace wick_python {
namespace {

// The slots of the variables that are alive, by the ids of their tape nodes: backward finds them from the tensors that it reaches.
class Slots {
 public:
  void add(uint64_t id, const std::shared_ptr<GradientSlot>& slot) {
    const std::lock_guard lock(mutex_);
    slots_[id] = slot;
  }
  void remove(uint64_t id) {
    const std::lock_guard lock(mutex_);
    slots_.erase(id);
  }
  [[nodiscard]] std::shared_ptr<GradientSlot> find(uint64_t id) {
    const std::lock_guard lock(mutex_);
    const auto found = slots_.find(id);
    return found == slots_.end() ? nullptr : found->second.lock();
  }

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::weak_ptr<GradientSlot>> slots_;
};

Slots& slots() {
  static Slots living;
  return living;
}

Gradients run_backward(const Array& root, bool create_graph, bool keep, const std::optional<Array>& gradient) {
  wick::BackwardOptions options{.create_graph = create_graph, .keep_intermediates = keep};
  if (gradient) options.gradient = gradient->t;
  return unlocked([&] { return Gradients{wick::backward(root.t, options)}; });
}

// The gradients are added to those that the variables have already, as in PyTorch.
Gradients backward(const Array& root, bool create_graph, bool keep, const std::optional<Array>& gradient) {
  Gradients found = run_backward(root, create_graph, keep, gradient);
  unlocked([&] {
    for (const uint64_t id : found.store.get_ids()) {
      const std::shared_ptr<GradientSlot> slot = slots().find(id);
      if (slot != nullptr) slot->add(*found.store.get_id(id));
    }
  });
  return found;
}

nb::object gradient_of(const Gradients& self, const Array& tensor) {
  const std::optional<Tensor> gradient = self.store.get(tensor.t);
  return gradient ? nb::cast(Array{*gradient}) : nb::none();
}

// A context manager over a scope of the C++ library.
template <class Scope>
struct ScopeManager {
  std::unique_ptr<Scope> scope = {};
  std::function<std::unique_ptr<Scope>()> enter = {};
};

template <class Scope>
void bind_scope(nb::class_<ScopeManager<Scope>>& manager) {
  manager
      .def("__enter__",
           [](ScopeManager<Scope>& self) {
             if (self.scope != nullptr) throw std::runtime_error("this scope was entered already; make another one");
             self.scope = self.enter();
           })
      .def("__exit__", [](ScopeManager<Scope>& self, const nb::args&) { self.scope.reset(); });
}

void bind_scopes(nb::module_& module) {
  using NoGrad = ScopeManager<wick::NoGradScope>;
  nb::class_<NoGrad> no_grad(module, "no_grad", "with wick.no_grad(): nothing that this thread computes is tracked.");
  no_grad.def("__init__", [](NoGrad* self) { new (self) NoGrad{.enter = [] { return std::make_unique<wick::NoGradScope>(); }}; });
  bind_scope(no_grad);
  using Defaults = ScopeManager<wick::DefaultsScope>;
  nb::class_<Defaults> defaults(module, "defaults",
                                "with wick.defaults(dtype=…, device=…): of what this thread makes without a dtype or a device.");
  defaults.def(
      "__init__",
      [](Defaults* self, nb::handle dtype, nb::handle device) {
        wick::Defaults wanted;
        if (!dtype.is_none()) wanted.dtype = kind_of(dtype, "defaults").dtype;
        if (!device.is_none()) wanted.device = device_of(device, "defaults");
        new (self) Defaults{.enter = [wanted] { return std::make_unique<wick::DefaultsScope>(wanted); }};
      },
      nb::kw_only(), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
      nb::sig("def __init__(self, *, dtype: DType | str | None = None, device: Device | str | None = None) -> None"));
  bind_scope(defaults);
}

}  // namespace

Variable::Variable(wick::Var variable) : Array{variable.tensor()}, var(std::move(variable)), slot(std::make_shared<GradientSlot>()) {
  slots().add(wick::tape_id(t), slot);
}

Variable::~Variable() { slots().remove(wick::tape_id(t)); }

std::shared_ptr<GradientSlot> find_slot(const Tensor& variable) { return slots().find(wick::tape_id(variable)); }

void bind_autograd(nb::module_& module, nb::class_<Array>& tensor) {
  nb::class_<Gradients>(module, "Gradients", "Gradients by tensor: what backward returns.")
      .def(
          "__getitem__", [](const Gradients& self, const Array& tensor_) { return Array{self.store[tensor_.t]}; }, nb::arg("tensor"),
          "Raises ValueError where none flowed to the tensor.")
      .def("get", &gradient_of, nb::arg("tensor"), nb::sig("def get(self, tensor: Tensor) -> Tensor | None"))
      .def("__len__", [](const Gradients& self) { return self.store.size(); });
  tensor.def("backward", &backward, nb::kw_only(), nb::arg("create_graph") = false, nb::arg("keep_intermediates") = false,
             nb::arg("gradient") = nb::none(),
             "The gradients of this tensor, summed up if it has several elements. They are also added to `grad` of each variable.\n\n"
             "create_graph: they are tracked themselves. keep_intermediates: of tensors that were computed too.");
  nb::class_<Variable, Array>(module, "Var", "A tensor of floats that gradients are wanted of.")
      .def(
          "__init__",
          [](Variable* self, nb::handle data, nb::handle dtype, nb::handle device) {
            const std::optional<Kind> kind = dtype.is_none() ? std::nullopt : std::optional(kind_of(dtype, "Var"));
            const bool is_array = nb::isinstance<Array>(data);
            const Device where = device.is_none() && is_array ? nb::cast<const Array&>(data).t.device() : device_of(device, "Var");
            const Array from = array_of(data, kind, where, "Var");
            new (self) Variable(unlocked([&] { return wick::Var::from_tensor(from.t); }));
          },
          nb::arg("data"), nb::arg("dtype") = nb::none(), nb::arg("device") = nb::none(),
          nb::sig("def __init__(self, data: typing.Any, dtype: DType | str | None = None, device: Device | str | None = None) -> None"))
      .def(
          "set",
          [](const Variable& self, nb::handle value) {
            const Array from = array_of(value, self.kind(), self.t.device(), "Var.set");
            unlocked([&] { self.var.set(from.t); });
          },
          nb::arg("value"), nb::sig("def set(self, value: TensorLike) -> None"), "Overwrites the elements.")
      .def_prop_rw(
          "grad",
          [](const Variable& self) -> nb::object {
            const std::optional<Tensor> gradient = self.slot->get();
            return gradient ? nb::cast(Array{*gradient}) : nb::none();
          },
          [](Variable& self, const std::optional<Array>& gradient) {
            self.slot->set(gradient ? std::optional(gradient->t) : std::nullopt);
          },
          nb::for_setter(nb::arg("gradient").none()), nb::for_getter(nb::sig("def grad(self) -> Tensor | None")),
          nb::for_setter(nb::sig("def grad(self, gradient: Tensor | None, /) -> None")))
      .def(
          "__deepcopy__", [](const nb::object& self, nb::handle) { return self.type()(self.attr("detach")().attr("copy")()); },
          nb::arg("memo"), nb::sig("def __deepcopy__(self, memo: typing.Any) -> Var"))
      .def("__reduce__", [](const nb::object& self) { return nb::make_tuple(self.type(), nb::make_tuple(self.attr("detach")())); });
  bind_scopes(module);
}

}  // namespace wick_python
