#include "wick/device/registry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <mutex>

#include "wick/base/fail.h"

namespace wick {
namespace {

struct OpenRuntime {
  DeviceKind kind;
  int index;
  DeviceOptions options;
  std::weak_ptr<Runtime> runtime;
};

// Devices are the machine's, so the handles on them are the process's: the one place that remembers which are open.
struct OpenRuntimes {
  std::mutex mutex;
  std::vector<OpenRuntime> entries;
};

OpenRuntimes& open_runtimes() {
  static OpenRuntimes instance;
  return instance;
}

std::string upper_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

}  // namespace

const Backend* find_backend(DeviceKind kind) noexcept {
  for (const Backend* backend : linked_backends()) {
    if (backend->kind == kind) return backend;
  }
  return nullptr;
}

const Backend& require_backend(DeviceKind kind) {
  if (const Backend* backend = find_backend(kind)) return *backend;
  std::vector<std::string_view> linked;
  for (const Backend* backend : linked_backends()) linked.push_back(to_string(backend->kind));
  const std::string_view name = to_string(kind);
  const auto tree = backends_in_tree();
  const bool in_tree = std::find(tree.begin(), tree.end(), name) != tree.end();
  const std::string remedy = in_tree ? fmt::format("build with -DWICK_{}=ON and a program that links it", upper_case(name))
                                     : fmt::format("this version of Wick has no {} backend yet", name);
  fail(ErrorCode::backend_not_linked, "backend {} is not linked into this program; it has: {}; {}", name, fmt::join(linked, ", "), remedy);
}

std::shared_ptr<Runtime> open_runtime(DeviceKind kind, int index, const DeviceOptions& options) {
  const Backend& backend = require_backend(kind);
  OpenRuntimes& open = open_runtimes();
  const std::lock_guard lock(open.mutex);
  std::erase_if(open.entries, [](const OpenRuntime& entry) { return entry.runtime.expired(); });
  for (const OpenRuntime& entry : open.entries) {
    if (entry.kind != kind || entry.index != index || entry.options != options) continue;
    if (std::shared_ptr<Runtime> runtime = entry.runtime.lock(); runtime != nullptr && !runtime->is_lost()) return runtime;
  }
  std::shared_ptr<Runtime> runtime = backend.open(index, options);
  // A backend whose devices run kernels says RUNS_KERNELS in its CMakeLists.txt, and programs that link it hold the launchers.
  WICK_ASSERT(!runtime->runs_kernels() || linked_launchers() != nullptr);
  open.entries.push_back({kind, index, options, runtime});
  return runtime;
}

}  // namespace wick
