// The score by which `auto` chooses a device: what it is made of comes first, then which backend drives it.
#pragma once

namespace [[gnu::visibility("default")]] wick {

// A processor is one that a GPU's language runs on: slower than the CPU backend's own kernels.
enum class Hardware { processor, other, virtual_gpu, integrated_gpu, discrete_gpu };

inline constexpr int kCpuBackendScore = 100;

// Discrete GPUs before integrated ones, those before virtual ones; then the CPU backend, and behind it whatever else a driver calls a
// device. `preference`, 0 to 9, is the backend's: of several that see the same hardware, the one that was measured to be fastest on it
// has the highest.
[[nodiscard]] constexpr int device_score(Hardware hardware, int preference) noexcept {
  switch (hardware) {
    case Hardware::discrete_gpu: return 500 + preference;
    case Hardware::integrated_gpu: return 300 + preference;
    case Hardware::virtual_gpu: return 200 + preference;
    case Hardware::other: return 50 + preference;
    case Hardware::processor: return 20 + preference;
  }
  return 0;
}

}  // namespace wick
