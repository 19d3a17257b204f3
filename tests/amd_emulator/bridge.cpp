// What a kernel's library does when it is launched: Python, inside this process, runs the kernel's code in an emulator (emulator.py), which
// reads and writes this process's memory. AMD_EMULATOR_PYTHON names the library of Python, AMD_EMULATOR_MODULES the folder of emulator.py.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace {

template <class Function>
Function* python(const char* name) {
  static void* const library = [] {
    const char* const file = std::getenv("AMD_EMULATOR_PYTHON");
    return dlopen(file != nullptr ? file : "libpython3.so", RTLD_NOW | RTLD_GLOBAL);
  }();
  void* const function = library != nullptr ? dlsym(library, name) : nullptr;
  if (function == nullptr) {
    std::fprintf(stderr, "AMD emulator: %s: set AMD_EMULATOR_PYTHON to the library of Python\n", dlerror());
    std::abort();
  }
  return reinterpret_cast<Function*>(function);
}

// Each kernel's library has this file of its own; Python is the process's.
void start_python() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (python<int()>("Py_IsInitialized")() != 0) return;
    python<void(int)>("Py_InitializeEx")(0);
    python<int(const char*)>("PyRun_SimpleString")("import os, sys\nsys.path.insert(0, os.environ['AMD_EMULATOR_MODULES'])\n");
    python<void*()>("PyEval_SaveThread")();
  });
}

// An instruction that the emulator has made a function of (emulator.py, Entry); it takes some of a wave's memories.
struct Entry {
  void* function;
  std::uint8_t memories[7];
  std::uint8_t barrier;
};
constexpr int kRegisterOfPosition = 256;  // in a wave's scalar registers, and the next one
enum : int { kDone = 0, kBarrier = 1, kUnknown = 2, kOutside = 3 };

// Runs a wave until it ends, meets a barrier, or comes to an instruction that has no function yet.
int step(const Entry* entries, std::uint64_t base, std::uint64_t bytes, void** memories) {
  const std::uint32_t* const registers = static_cast<std::uint32_t*>(memories[0]) + kRegisterOfPosition;
  while (true) {
    const std::uint64_t position = registers[0] | std::uint64_t{registers[1]} << 32;
    if (position == ~std::uint64_t{0}) return kDone;
    if (position - base >= bytes) return kOutside;
    const Entry& entry = entries[(position - base) / 4];
    if (entry.function == nullptr) return kUnknown;
    const auto m = [&](int i) { return memories[entry.memories[i]]; };
    reinterpret_cast<void (*)(void*, void*, void*, void*, void*, void*)>(entry.function)(m(0), m(1), m(2), m(3), m(4), m(5));
    if (entry.barrier != 0) return kBarrier;
  }
}

struct Call {
  const void* code;
  std::string kernel;
  std::vector<char> arguments;

  // An error is printed, and what the kernel should have written stays as it was: whoever looks at it says what went wrong.
  void operator()(const unsigned* grid, unsigned lanes) const {
    start_python();
    char text[512];
    std::snprintf(text, sizeof text, "import emulator\nemulator.launch(%llu, '%s', %llu, %zu, (%u, %u, %u), %u, %llu)\n",
                  static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(code)), kernel.c_str(),
                  static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(arguments.data())), arguments.size(), grid[0], grid[1],
                  grid[2], lanes, static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(&step)));
    const int lock = python<int()>("PyGILState_Ensure")();
    python<int(const char*)>("PyRun_SimpleString")(text);
    python<void(int)>("PyGILState_Release")(lock);
  }
};

}  // namespace

// `buffers` addresses, then `bytes` of the kernel's parameters, as the processor's calling convention has them.
extern "C" void* amd_emulator_bind(const void* code, const char* kernel, unsigned buffers, std::size_t bytes, void** parameters) {
  Call call{code, kernel, std::vector<char>(buffers * sizeof(void*) + bytes)};
  for (unsigned i = 0; i < buffers; ++i) std::memcpy(call.arguments.data() + i * sizeof(void*), parameters[i], sizeof(void*));
  if (bytes > 0) std::memcpy(call.arguments.data() + buffers * sizeof(void*), parameters[buffers], bytes);
  return new std::function<void(const unsigned*, unsigned)>(std::move(call));
}
