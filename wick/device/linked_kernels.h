// Parts that a program links so that kernels run in it: the launchers of the library's ops and the recorder of their
// launches, where one of the backends runs kernels, and the interpreter, which is how the CPU runs kernels of users. The tables are
// generated for each program, as linked_backends() is, so that a program which needs none of them holds no kernel code.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "wick/device/op_call.h"
#include "wick/device/program.h"
#include "wick/op/device_caps.h"

namespace [[gnu::visibility("default")]] wick {

// By OpId; nullptr: the op has no portable kernel.
using LauncherTable = std::array<OpFunction, kOpCount>;

struct KernelInterpreter {
  std::shared_ptr<const Program> (*prepare)(const ir::Kernel& kernel, const DeviceCaps& caps);
  void (*run)(const Launch& launch, bool keeps_subnormals);
};
extern const KernelInterpreter kKernelInterpreter;

class Device;
class Graph;

// Graph::record, Graph::replay, KernelRuntime::compile_together and KernelDriver::free_bytes, for code that every program holds. The last
// two are also for devices that run no kernels: nothing is called then, and nothing known.
struct GraphRecorder {
  Graph (*record)(const Device& device, const std::function<void()>& body);
  void (*replay)(const Graph& graph);
  void (*compile_together)(const Device& device, const std::function<void()>& body);
  std::optional<size_t> (*free_bytes)(const Device& device);
};
extern const GraphRecorder kGraphRecorder;

// nullptr: no linked backend runs kernels.
[[nodiscard]] const LauncherTable* linked_launchers() noexcept;
[[nodiscard]] const GraphRecorder* linked_graph_recorder() noexcept;
// nullptr: the program was linked without it.
[[nodiscard]] const KernelInterpreter* linked_interpreter() noexcept;
// linked_interpreter(). Errors: unsupported, naming the kernel and the program that holds the interpreter.
[[nodiscard]] const KernelInterpreter& require_interpreter(std::string_view kernel);

}  // namespace wick
