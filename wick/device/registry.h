// The registry: which backends this program holds, what devices they see, and the runtimes that are open.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/device/device_kind.h"
#include "wick/device/device_score.h"
#include "wick/device/device_usage.h"
#include "wick/device/linked_kernels.h"
#include "wick/device/runtime.h"

namespace [[gnu::visibility("default")]] wick {

// One device that a backend found on this machine.
struct DeviceInfo {
  int index = 0;
  DeviceCaps caps;
  // How well it suits inference (device_score.h): the higher the better; 0: usable, never chosen by itself.
  int score = 0;
};

// A code path that a device can be opened with by name (DeviceOptions::variant), such as an instruction set.
struct VariantInfo {
  std::string name;
  bool usable = false;  // this machine can run it
};

// A number that a backend found by trying on this machine, such as the prefetch distance of a format.
struct LearntNumber {
  std::string name;
  int64_t value = 0;
};

// A backend, as the constant table that its room defines (`const Backend wick::<name>::kBackend`).
struct Backend {
  DeviceKind kind;
  std::vector<DeviceInfo> (*probe)();
  // nullptr where probe() lists no device of that index; open_device() says why. Errors: invalid_argument for an unknown variant.
  std::unique_ptr<Runtime> (*open)(int index, const DeviceOptions& options);
  // The variants that are compiled in, in the order of preference: the last usable one is chosen. nullptr: there is but one path.
  std::vector<VariantInfo> (*variants)() = nullptr;
  // Why probe() does not list that index, such as a driver that is missing or too old; empty if there is no more to say than that it is
  // not there. nullptr: always empty.
  std::string (*missing)(int index) = nullptr;
  // How much of a device that probe() lists is in use, by all programs together. nullptr: its driver does not tell. Errors: not_found for
  // what the driver's own library or files are missing; those of that library.
  DeviceUsage (*usage)(int index) = nullptr;
  // Values that an open runtime of this backend has measured on this machine, now or in an earlier run: names and numbers for users.
  // nullptr: nothing.
  std::vector<LearntNumber> (*learnt)(Runtime& runtime) = nullptr;
};

// Both tables are generated for each program by link_backends() (cmake/WickBackends.cmake).
[[nodiscard]] std::span<const Backend* const> linked_backends() noexcept;
[[nodiscard]] std::span<const std::string_view> backends_in_tree() noexcept;

// Which backends there are to choose from: a program's own, or those of a test.
struct BackendTable {
  std::span<const Backend* const> linked = linked_backends();
  std::span<const std::string_view> in_tree = backends_in_tree();

  [[nodiscard]] bool has_in_tree(DeviceKind kind) const noexcept;
};

// nullptr if the program does not hold it.
[[nodiscard]] const Backend* find_backend(DeviceKind kind, const BackendTable& table = {}) noexcept;
// As find_backend. Errors: backend_not_linked, naming the CMake option if the tree has that backend, and the backends that are linked.
[[nodiscard]] const Backend& require_backend(DeviceKind kind, const BackendTable& table = {});
// Why there is no device of that index; `reason` is Backend::missing's.
[[noreturn]] void fail_no_device(DeviceKind kind, int index, std::span<const DeviceInfo> found, const std::string& reason);
// Opens a device, whether or not it is open already. Errors: no_device, with the backend's reason, or with the devices that it lists.
[[nodiscard]] std::unique_ptr<Runtime> open_device(const Backend& backend, int index, const DeviceOptions& options);

// The runtime of that device with these options: the one that is open, or that rests (Runtime::rest), or a new one where it is lost or not
// there. Errors: those of
// require_backend and open_device.
[[nodiscard]] std::shared_ptr<Runtime> open_runtime(DeviceKind kind, int index, const DeviceOptions& options);

// Backend::usage of that device; none where there is no such query, or no such device. Errors: those of Backend::usage.
[[nodiscard]] std::optional<DeviceUsage> device_usage(DeviceKind kind, int index, const BackendTable& table = {});

// "-DWICK_VULKAN=ON" of a backend in the tree; empty for one that every build has.
[[nodiscard]] std::string cmake_option(DeviceKind kind);

}  // namespace wick
