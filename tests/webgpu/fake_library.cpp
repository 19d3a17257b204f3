// A library that is not the wgpu-native that the backend calls: of another version, or of the right one without the functions.
#include <cstdint>

extern "C" [[gnu::visibility("default")]] uint32_t wgpuGetVersion();
uint32_t wgpuGetVersion() { return FAKE_VERSION; }
