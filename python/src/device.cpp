// Devices, backends and dtypes.
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "array.h"
#include "wick/device/selection.h"

namespace wick_python {
namespace {

std::string location_of(const Device& device) { return device.location().to_string(); }

// None: the best device of the machine; a name: that device.
Device open_device(const nb::object& name, int threads, bool validate) {
  const wick::DeviceOptions options = {.threads = threads, .validate = validate};
  if (name.is_none()) return unlocked([&] { return Device::best(options); });
  if (nb::isinstance<Device>(name)) return nb::cast<Device>(name);
  const std::string text = value_as<std::string>(name, "Device");
  return unlocked([&] { return Device::parse(text, options); });
}

std::vector<std::string> backends() {
  std::vector<std::string> names;
  for (const wick::Backend* backend : wick::linked_backends()) {
    if (wick::is_for_users(backend->kind)) names.emplace_back(to_string(backend->kind));
  }
  return names;
}

nb::list devices() {
  const std::vector<wick::DetectedDevice> found = unlocked([] { return wick::detect_devices(); });
  nb::list list;
  for (const wick::DetectedDevice& device : found) {
    nb::dict row;
    row["device"] = device.location().to_string();
    row["name"] = device.info.caps.name;
    row["score"] = device.info.score;
    list.append(row);
  }
  return list;
}

void bind_kind(nb::module_& module) {
  nb::class_<Kind>(module, "DType", "How elements are stored: wick.float32, wick.int64, wick.bool, wick.q4_k …")
      .def(
          "__init__", [](Kind* self, nb::handle name) { new (self) Kind(kind_of(name, "DType")); }, nb::arg("name"),
          nb::sig("def __init__(self, name: str | DType) -> None"))
      .def_prop_ro("name", &Kind::name, "Wick's name: 'f32', 'bool', 'q4_k'.")
      .def_prop_ro(
          "itemsize", [](const Kind& kind) { return wick::info(kind.dtype).block_bytes; },
          "Bytes of an element; of a quantized dtype, of a block.")
      .def_prop_ro("is_floating_point", [](const Kind& kind) { return wick::is_float(kind.dtype); })
      .def_prop_ro("is_quantized", [](const Kind& kind) { return wick::is_quantized(kind.dtype); })
      .def(
          "__eq__", [](const Kind& self, nb::handle other) { return nb::isinstance<Kind>(other) && nb::cast<Kind>(other) == self; },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Kind& kind) { return static_cast<int64_t>(kind.dtype) * 2 + (kind.boolean ? 1 : 0); })
      .def("__repr__", [](const Kind& kind) { return "wick." + kind.name(); })
      .def("__reduce__", [](const Kind& kind) { return nb::make_tuple(nb::type<Kind>(), nb::make_tuple(kind.name())); });
  for (const wick::DTypeInfo& row : wick::kDTypeRows) {
    module.attr(std::string(row.name).c_str()) = nb::cast(Kind{row.dtype});
  }
  for (const auto& [name, kind] : {std::pair{"bool", kBool},
                                   {"bool_", kBool},
                                   {"uint8", Kind{DType::u8}},
                                   {"uint32", Kind{DType::u32}},
                                   {"int8", Kind{DType::i8}},
                                   {"int16", Kind{DType::i16}},
                                   {"int32", Kind{DType::i32}},
                                   {"int64", Kind{DType::i64}},
                                   {"float16", Kind{DType::f16}},
                                   {"bfloat16", Kind{DType::bf16}},
                                   {"float32", Kind{DType::f32}},
                                   {"float64", Kind{DType::f64}},
                                   {"float8_e4m3fn", Kind{DType::f8e4m3}}}) {
    module.attr(name) = nb::cast(kind);
  }
}

}  // namespace

void bind_device(nb::module_& module) {
  bind_kind(module);
  nb::class_<Device>(module, "Device", "An opened device: Device('cpu'), Device('cuda:0'); Device() is the best of this machine.")
      .def(
          "__init__",
          [](Device* self, const nb::object& name, int threads, bool validate) { new (self) Device(open_device(name, threads, validate)); },
          nb::arg("name") = nb::none(), nb::kw_only(), nb::arg("threads") = 0, nb::arg("validate") = false,
          nb::sig("def __init__(self, name: str | Device | None = None, *, threads: int = 0, validate: bool = False) -> None"),
          "Opens a device.\n\nthreads: host threads that its work may use; 0: every usable core.\n"
          "validate: checks what each launch touches; slow.\n"
          "Raises BackendNotLinkedError, NoDeviceError, InvalidArgumentError.")
      .def_prop_ro(
          "kind", [](const Device& device) { return std::string(to_string(device.kind())); }, "'cpu', 'cuda' …")
      .def_prop_ro("index", [](const Device& device) { return device.location().index; })
      .def_prop_ro(
          "name", [](const Device& device) { return device.caps().name; }, "As the driver calls it.")
      .def_prop_ro("allocated_bytes", [](const Device& device) { return device.runtime().allocated_bytes(); })
      .def_prop_ro("peak_allocated_bytes", [](const Device& device) { return device.runtime().peak_allocated_bytes(); })
      .def(
          "set_seed", [](const Device& device, uint64_t seed) { device.set_seed(seed); }, nb::arg("seed"),
          "Restarts the device's stream of random numbers. The stream belongs to the process: it goes on when no tensor or Device is "
          "alive.")
      .def_prop_ro(
          "seed", [](const Device& device) { return device.get_current_seed(); },
          "Of its stream of random numbers: set_seed's, else the process's (manual_seed).")
      .def(
          "synchronize", [](const Device& device) { unlocked([&] { device.synchronize(); }); }, "Waits for what is queued.")
      .def(
          "__eq__",
          [](const Device& self, nb::handle other) {
            if (nb::isinstance<Device>(other)) return self.same_device(nb::cast<const Device&>(other));
            return PyUnicode_Check(other.ptr()) && PyUnicode_CompareWithASCIIString(other.ptr(), location_of(self).c_str()) == 0;
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Device& device) { return nb::hash(nb::str(location_of(device).c_str())); })
      .def("__str__", &location_of)
      .def("__repr__", [](const Device& device) { return fmt::format("Device('{}')", location_of(device)); })
      .def("__reduce__", [](const Device& device) { return nb::make_tuple(nb::type<Device>(), nb::make_tuple(location_of(device))); });
  module.def("manual_seed", &wick::manual_seed, nb::arg("seed"),
             "Restarts the random numbers of the process: the streams of all devices, and the seeds that generate and DataLoader draw.\n\n"
             "Without it, or WICK_SEED in the environment, each process has a random seed.");
  module.def("initial_seed", &wick::initial_seed, "The seed of the process: manual_seed's, WICK_SEED's, or a random one.");
  module.def("draw_seed", &wick::draw_seed, "A random number of 32 bits from the process's seed.");
  module.def("backends", &backends, "The backends that this module holds: ['cpu', 'cuda'].");
  module.def("devices", &devices, nb::sig("def devices() -> list[dict[str, object]]"),
             "The devices of this machine, the best first: device, name, score.");
  module.def(
      "is_available",
      [](const std::string& name) {
        const wick::DeviceLocation location = Device::parse_location(name);
        return unlocked([&] { return Device::is_available(location.kind, location.index); });
      },
      nb::arg("device"), "Whether that device is linked and there: is_available('cuda:1').");
  for (const std::string_view name : wick::kUserDeviceKindNames) {
    std::string upper = "HAS_";
    for (const char c : name) upper += static_cast<char>(c - 'a' + 'A');
    module.attr(upper.c_str()) = wick::find_backend(*wick::parse_device_kind(name)) != nullptr;
  }
}

}  // namespace wick_python
