#include "wick/device/registry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>

#include "wick/base/ascii.h"
#include "wick/base/fail.h"
#include "wick/base/process.h"

namespace wick {
namespace {

struct OpenRuntime {
  DeviceKind kind;
  int index;
  DeviceOptions options;
  std::weak_ptr<Runtime> runtime;
  std::unique_ptr<Runtime> resting = nullptr;  // nothing on the device is alive, and the runtime waits for the next op (Runtime::rest)
};

// Devices are the machine's, so the handles on them are the process's: the one place that remembers which are open.
struct OpenRuntimes {
  std::mutex mutex;
  std::vector<OpenRuntime> entries;
  bool is_ending = false;  // nothing rests any more
};

void abandon_resting() noexcept;

// Never destroyed: tensors in static variables, and threads that run until the process has ended, close their devices late.
OpenRuntimes& open_runtimes() {
  static OpenRuntimes& instance = []() -> OpenRuntimes& {
    OpenRuntimes& made = *std::make_unique<OpenRuntimes>().release();
    call_in_forked_children(abandon_resting);
    return made;
  }();
  return instance;
}

// Of a forked child: the threads of its parent's runtimes do not exist here, so the next op opens its own.
void abandon_resting() noexcept {
  OpenRuntimes& open = open_runtimes();
  const std::unique_lock lock(open.mutex, std::try_to_lock);
  if (!lock.owns_lock()) return;
  for (OpenRuntime& entry : open.entries) {
    [[maybe_unused]] const Runtime* const left = entry.resting.release();
  }
}

// Closes what rests when the process ends, or when the library is unloaded.
struct Ending {
  ~Ending() {
    OpenRuntimes& open = open_runtimes();
    std::vector<std::unique_ptr<Runtime>> resting;
    const std::lock_guard lock(open.mutex);
    open.is_ending = true;
    for (OpenRuntime& entry : open.entries) resting.push_back(std::move(entry.resting));
  }
};

// The runtime of an entry while it is in use; afterwards it rests, or is closed. Only runtimes that were opened without options rest: of
// each device there is one.
class InUse {
 public:
  InUse(DeviceKind kind, int index) noexcept : kind_(kind), index_(index) {}
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
  ~InUse() {
    if (runtime_ == nullptr || runtime_->is_lost() || !runtime_->rest()) return;
    OpenRuntimes& open = open_runtimes();
    const std::lock_guard lock(open.mutex);
    for (OpenRuntime& entry : open.entries) {
      // Another one may have been opened meanwhile: then this one is closed.
      const bool takes_it = entry.kind == kind_ && entry.index == index_ && entry.options == DeviceOptions{} && entry.runtime.expired();
      if (takes_it && entry.resting == nullptr && !open.is_ending) entry.resting = std::move(runtime_);
    }
  }
  // The handle that keeps it in use.
  [[nodiscard]] static std::shared_ptr<Runtime> begin(std::shared_ptr<InUse> use, std::unique_ptr<Runtime> runtime) noexcept {
    use->runtime_ = std::move(runtime);
    Runtime* const used = use->runtime_.get();
    return {std::move(use), used};
  }

 private:
  DeviceKind kind_;
  int index_;
  std::unique_ptr<Runtime> runtime_;
};

// "cpu, opencl": the kinds that users choose among; where there are none, those for tests.
std::string names_of(std::span<const Backend* const> linked) {
  std::vector<std::string_view> names, others;
  for (const Backend* backend : linked) (is_for_users(backend->kind) ? names : others).push_back(to_string(backend->kind));
  if (names.empty()) names = others;
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::optional<DeviceUsage> device_usage(DeviceKind kind, int index, const BackendTable& table) {
  const Backend* const backend = find_backend(kind, table);
  if (backend == nullptr || backend->usage == nullptr) return std::nullopt;
  const std::vector<DeviceInfo> found = backend->probe();
  const bool is_there = std::any_of(found.begin(), found.end(), [&](const DeviceInfo& device) { return device.index == index; });
  return is_there ? std::optional(backend->usage(index)) : std::nullopt;
}

std::string cmake_option(DeviceKind kind) {
  if (kind == DeviceKind::cpu || !is_for_users(kind)) return "";
  return fmt::format("-DWICK_{}=ON", ascii_uppercase(to_string(kind)));
}

bool BackendTable::has_in_tree(DeviceKind kind) const noexcept {
  return std::find(in_tree.begin(), in_tree.end(), to_string(kind)) != in_tree.end();
}

const Backend* find_backend(DeviceKind kind, const BackendTable& table) noexcept {
  for (const Backend* backend : table.linked) {
    if (backend->kind == kind) return backend;
  }
  return nullptr;
}

const Backend& require_backend(DeviceKind kind, const BackendTable& table) {
  if (const Backend* backend = find_backend(kind, table)) return *backend;
  const std::string_view name = to_string(kind);
  const std::string linked = names_of(table.linked);
  if (!table.has_in_tree(kind)) {
    fail(ErrorCode::backend_not_linked, "backend {}: this version of Wick does not have it; this program has: {}", name, linked);
  }
  const std::string option = cmake_option(kind);
  fail(ErrorCode::backend_not_linked, "backend {}: this program does not link it; it has: {}; {}", name, linked,
       option.empty() ? "every build of Wick has it: link it" : fmt::format("build Wick with {} and link it", option));
}

void fail_no_device(DeviceKind kind, int index, std::span<const DeviceInfo> found, const std::string& reason) {
  if (found.empty()) {
    fail(ErrorCode::no_device, "{0}:{1}: no {0} device was found: {2}", to_string(kind), index,
         reason.empty() ? "no driver lists one" : reason);
  }
  if (!reason.empty()) fail(ErrorCode::no_device, "{}:{}: this device cannot be used: {}", to_string(kind), index, reason);
  std::vector<std::string> devices;
  for (const DeviceInfo& device : found) devices.push_back(fmt::format("{}:{} ({})", to_string(kind), device.index, device.caps.name));
  fail(ErrorCode::no_device, "{0}:{1}: there is no such device; {0} has {2}: {3}", to_string(kind), index, devices.size(),
       fmt::join(devices, ", "));
}

std::unique_ptr<Runtime> open_device(const Backend& backend, int index, const DeviceOptions& options) {
  std::unique_ptr<Runtime> runtime = index < 0 ? nullptr : backend.open(index, options);
  if (runtime == nullptr) {
    fail_no_device(backend.kind, index, backend.probe(), backend.missing != nullptr ? backend.missing(index) : "");
  }
  return runtime;
}

std::shared_ptr<Runtime> open_runtime(DeviceKind kind, int index, const DeviceOptions& options) {
  const Backend& backend = require_backend(kind);
  // The CPU has nothing to fall back to.
  std::shared_ptr<Runtime> cpu;
  if (options.cpu_fallback && kind != DeviceKind::cpu) cpu = open_runtime(DeviceKind::cpu, 0, {.threads = options.threads});
  OpenRuntimes& open = open_runtimes();
  static const Ending ending;
  // Before the lock, which what closes a runtime takes too.
  std::vector<std::shared_ptr<Runtime>> lost;
  const std::shared_ptr<InUse> use = options == DeviceOptions{} ? std::make_shared<InUse>(kind, index) : nullptr;
  const std::lock_guard lock(open.mutex);
  std::erase_if(open.entries, [](const OpenRuntime& entry) { return entry.runtime.expired() && entry.resting == nullptr; });
  for (OpenRuntime& entry : open.entries) {
    if (entry.kind != kind || entry.index != index || entry.options != options) continue;
    if (entry.resting != nullptr) {
      std::shared_ptr<Runtime> runtime = InUse::begin(use, std::move(entry.resting));
      entry.runtime = runtime;
      return runtime;
    }
    if (std::shared_ptr<Runtime> runtime = entry.runtime.lock(); runtime != nullptr) {
      if (!runtime->is_lost()) return runtime;
      lost.push_back(std::move(runtime));
    }
  }
  std::unique_ptr<Runtime> opened = open_device(backend, index, options);
  std::shared_ptr<Runtime> runtime = use == nullptr ? std::move(opened) : InUse::begin(use, std::move(opened));
  // A backend whose devices run kernels says RUNS_KERNELS in its CMakeLists.txt, and programs that link it hold the launchers.
  WICK_ASSERT(!runtime->runs_kernels() || linked_launchers() != nullptr);
  if (cpu != nullptr) runtime->set_op_fallback(std::make_unique<OpFallback>(std::move(cpu)));
  open.entries.push_back({.kind = kind, .index = index, .options = options, .runtime = runtime});
  return runtime;
}

}  // namespace wick
