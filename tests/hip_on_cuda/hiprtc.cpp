// hiprtc's interface over NVRTC: HIP C++ for the NVIDIA device 0 of this machine. What HIP has and CUDA spells otherwise comes from a
// header.
#include <algorithm>
#include <string>
#include <vector>

#include "forward.h"

namespace {

// _Float16 rounds after every operation: f32 has enough digits that its own rounding before that changes nothing.
constexpr const char* kHeader = R"(#pragma once
#define __builtin_amdgcn_sdot4(a, b, c, clamp) __dp4a(a, b, c)
#define __builtin_amdgcn_sudot4(a_signed, a, b_signed, b, c, clamp) __dp4a(a, b, c)
struct HipHalf {
  unsigned short bits;
  HipHalf() = default;
  __device__ HipHalf(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
  __device__ HipHalf(double x) { asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x)); }
  __device__ HipHalf(int x) : HipHalf((float)x) {}
  __device__ HipHalf(unsigned x) : HipHalf((float)x) {}
  __device__ HipHalf(long long x) : HipHalf((float)x) {}
  __device__ HipHalf(bool x) : HipHalf(x ? 1.0f : 0.0f) {}
  __device__ operator float() const {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
  }
  __device__ HipHalf& operator+=(HipHalf b) { return *this = HipHalf((float)*this + (float)b); }
};
#define HIP_HALF(op) __device__ __forceinline__ HipHalf operator op(HipHalf a, HipHalf b) { return HipHalf((float)a op (float)b); }
HIP_HALF(+)
HIP_HALF(-)
HIP_HALF(*)
__device__ __forceinline__ HipHalf operator/(HipHalf a, HipHalf b) { return HipHalf(__fdiv_rn((float)a, (float)b)); }
__device__ __forceinline__ HipHalf operator-(HipHalf a) { a.bits ^= 0x8000; return a; }
#define HIP_COMPARE(op) __device__ __forceinline__ bool operator op(HipHalf a, HipHalf b) { return (float)a op (float)b; }
HIP_COMPARE(<)
HIP_COMPARE(<=)
HIP_COMPARE(>)
HIP_COMPARE(>=)
HIP_COMPARE(==)
HIP_COMPARE(!=)
#define _Float16 HipHalf
template <class T> __device__ __forceinline__ T hip_shuffle(T x, int lane, int width, bool by_xor) {
  return by_xor ? __shfl_xor_sync(0xffffffffu, x, lane, width) : __shfl_sync(0xffffffffu, x, lane, width);
}
template <> __device__ __forceinline__ HipHalf hip_shuffle(HipHalf x, int lane, int width, bool by_xor) {
  x.bits = (unsigned short)hip_shuffle((int)x.bits, lane, width, by_xor);
  return x;
}
#define __shfl_xor(x, lanes, width) hip_shuffle(x, lanes, width, true)
#define __shfl(x, lane, width) hip_shuffle(x, lane, width, false)
)";
constexpr const char* kHeaderName = "hip_on_cuda.h";

// The newest that is not newer than the driver, as the CUDA backend has it; without a driver the newest that is there.
void* library() {
  static void* const instance = [] {
    int version = 14000;
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver != nullptr) reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"))(&version);
    for (int major = version / 1000; major >= 12; --major) {
      const std::string name = "libnvrtc.so." + std::to_string(major);
      for (const std::string& file : {name, "/usr/local/cuda/lib64/" + name}) {
        if (void* const opened = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return opened;
      }
    }
    return forward::must_have(nullptr, "libnvrtc.so");
  }();
  return instance;
}

template <class... Parameters>
int call(const char* name, Parameters... parameters) {
  return reinterpret_cast<int (*)(Parameters...)>(forward::must_have(dlsym(library(), name), name))(parameters...);
}

// "sm_90a"; without a driver that of an H100.
std::string target() {
  int major = 9, minor = 0;
  if (void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    const auto attribute = reinterpret_cast<int (*)(int*, int, int)>(dlsym(driver, "cuDeviceGetAttribute"));
    attribute(&major, 75, 0);
    attribute(&minor, 76, 0);
  }
  return "sm_" + std::to_string(10 * major + minor) + (major >= 9 ? "a" : "");
}

struct Program {
  void* program = nullptr;
  bool contracts = true;
};

void* inner(void* program) { return static_cast<Program*>(program)->program; }

}  // namespace

EXPORT int hiprtcVersion(int* major, int* minor) {
  *major = 7;
  *minor = 1;
  return 0;
}
EXPORT const char* hiprtcGetErrorString(int status) {
  return reinterpret_cast<const char* (*)(int)>(forward::must_have(dlsym(library(), "nvrtcGetErrorString"), "nvrtcGetErrorString"))(status);
}
EXPORT int hiprtcCreateProgram(void** program, const char* text, const char* name, int, const char* const*, const char* const*) {
  auto* const made = new Program;
  const std::string whole = std::string("#include \"") + kHeaderName + "\"\n" + text;
  made->contracts = whole.find("fp contract(off)") == std::string::npos;
  *program = made;
  return call<void**, const char*, const char*, int, const char* const*, const char* const*>(
      "nvrtcCreateProgram", &made->program, whole.c_str(), name, 1, &kHeader, &kHeaderName);
}
EXPORT int hiprtcDestroyProgram(void** program) {
  auto* const made = static_cast<Program*>(*program);
  const int status = call("nvrtcDestroyProgram", &made->program);
  delete made;
  *program = nullptr;
  return status;
}
EXPORT int hiprtcCompileProgram(void* program, int count, const char* const* options) {
  std::vector<std::string> all{"--gpu-architecture=" + target(), "--diag-suppress=161"};  // pragmas of clang
  if (!static_cast<Program*>(program)->contracts) all.emplace_back("--fmad=false");
  for (int i = 0; i < count; ++i) {
    if (std::string(options[i]).find("--gpu-architecture=") != 0) all.emplace_back(options[i]);
  }
  std::vector<const char*> texts;
  std::transform(all.begin(), all.end(), std::back_inserter(texts), [](const std::string& option) { return option.c_str(); });
  return call<void*, int, const char* const*>("nvrtcCompileProgram", inner(program), static_cast<int>(texts.size()), texts.data());
}
EXPORT int hiprtcGetProgramLogSize(void* program, size_t* bytes) { return call("nvrtcGetProgramLogSize", inner(program), bytes); }
EXPORT int hiprtcGetProgramLog(void* program, char* log) { return call("nvrtcGetProgramLog", inner(program), log); }
EXPORT int hiprtcGetCodeSize(void* program, size_t* bytes) { return call("nvrtcGetCUBINSize", inner(program), bytes); }
EXPORT int hiprtcGetCode(void* program, char* code) { return call("nvrtcGetCUBIN", inner(program), code); }
