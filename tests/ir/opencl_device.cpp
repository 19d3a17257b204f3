#include "ir/opencl_device.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "base/error.h"

// Of LeakSanitizer, in builds that have it: what drivers do not give back is their own.
extern "C" void __lsan_disable() __attribute__((weak));

namespace wick::ir {
namespace {

// The loader's functions, declared here so that no header of theirs is needed.
using Handle = void*;
struct Api {
  int (*platforms)(unsigned, Handle*, unsigned*) = nullptr;
  int (*devices)(Handle, uint64_t, unsigned, Handle*, unsigned*) = nullptr;
  int (*device_info)(Handle, unsigned, std::size_t, void*, std::size_t*) = nullptr;
  Handle (*create_context)(const intptr_t*, unsigned, const Handle*, void*, void*, int*) = nullptr;
  Handle (*create_queue)(Handle, Handle, uint64_t, int*) = nullptr;
  Handle (*create_program)(Handle, unsigned, const char**, const std::size_t*, int*) = nullptr;
  int (*build)(Handle, unsigned, const Handle*, const char*, void*, void*) = nullptr;
  int (*build_info)(Handle, Handle, unsigned, std::size_t, void*, std::size_t*) = nullptr;
  Handle (*create_kernel)(Handle, const char*, int*) = nullptr;
  Handle (*create_buffer)(Handle, uint64_t, std::size_t, void*, int*) = nullptr;
  int (*set_argument)(Handle, unsigned, std::size_t, const void*) = nullptr;
  int (*launch)(Handle, Handle, unsigned, const std::size_t*, const std::size_t*, const std::size_t*, unsigned, void*, void*) = nullptr;
  int (*read)(Handle, Handle, unsigned, std::size_t, std::size_t, void*, unsigned, void*, void*) = nullptr;
  int (*release_buffer)(Handle) = nullptr;
  int (*release_kernel)(Handle) = nullptr;
  int (*release_program)(Handle) = nullptr;
};

constexpr unsigned kDeviceName = 0x102b, kBuildLog = 0x1183;
constexpr uint64_t kReadWriteCopy = 1U | 32U, kEveryDevice = 0xffffffff;

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

bool load(void* library, Api& api) {
  return find(library, "clGetPlatformIDs", api.platforms) && find(library, "clGetDeviceIDs", api.devices) &&
         find(library, "clGetDeviceInfo", api.device_info) && find(library, "clCreateContext", api.create_context) &&
         find(library, "clCreateCommandQueue", api.create_queue) && find(library, "clCreateProgramWithSource", api.create_program) &&
         find(library, "clBuildProgram", api.build) && find(library, "clGetProgramBuildInfo", api.build_info) &&
         find(library, "clCreateKernel", api.create_kernel) && find(library, "clCreateBuffer", api.create_buffer) &&
         find(library, "clSetKernelArg", api.set_argument) && find(library, "clEnqueueNDRangeKernel", api.launch) &&
         find(library, "clEnqueueReadBuffer", api.read) && find(library, "clReleaseMemObject", api.release_buffer) &&
         find(library, "clReleaseKernel", api.release_kernel) && find(library, "clReleaseProgram", api.release_program);
}

class Device final : public OpenClDevice {
 public:
  Device(const Api& api, Handle id) : api_(api), id_(id) {
    std::array<char, 256> text{};
    api_.device_info(id_, kDeviceName, text.size() - 1, text.data(), nullptr);
    name_ = text.data();
    int status = 0;
    context_ = api_.create_context(nullptr, 1, &id_, nullptr, nullptr, &status);
    check(status, "a context");
    queue_ = api_.create_queue(context_, id_, 0, &status);
    check(status, "a queue");
  }

  [[nodiscard]] const std::string& name() const override { return name_; }

  std::vector<std::vector<std::byte>> run(const Text& text) override {
    int status = 0;
    const char* source = text.text.c_str();
    const Handle program = api_.create_program(context_, 1, &source, nullptr, &status);
    check(status, "a program");
    if (api_.build(program, 1, &id_, "-cl-std=CL1.2", nullptr, nullptr) != 0) {
      std::vector<char> log(4096);
      api_.build_info(program, id_, kBuildLog, log.size() - 1, log.data(), nullptr);
      fail(ErrorCode::unsupported, "{} on {}: {}", text.source.name, name_, log.data());
    }
    const Handle kernel = api_.create_kernel(program, entry_name(text.prepared).c_str(), &status);
    check(status, "a kernel");
    std::vector<std::vector<std::byte>> buffers = launch(kernel, text);
    api_.release_kernel(kernel);
    api_.release_program(program);
    return buffers;
  }

 private:
  void check(int status, const char* what) const {
    if (status != 0) fail(ErrorCode::no_device, "{}: {} was refused with status {}", name_, what, status);
  }

  std::vector<std::vector<std::byte>> launch(Handle kernel, const Text& text) {
    const KernelCase& c = text.source;
    std::vector<std::vector<std::byte>> bytes;
    std::vector<Handle> buffers;
    int status = 0;
    for (const CaseBuffer& buffer : c.buffers) {
      bytes.push_back(buffer.bytes);
      buffers.push_back(api_.create_buffer(context_, kReadWriteCopy, bytes.back().size(), bytes.back().data(), &status));
      check(status, "a buffer");
    }
    for (unsigned i = 0; i < buffers.size(); ++i) check(api_.set_argument(kernel, i, sizeof(Handle), &buffers[i]), "an argument");
    if (!c.parameters.empty()) {
      check(api_.set_argument(kernel, static_cast<unsigned>(buffers.size()), c.parameters.size() * 4, c.parameters.data()),
            "the parameters");
    }
    const std::array<std::size_t, 3> local{text.prepared.group_size, 1, 1};
    const std::array<std::size_t, 3> global{local[0] * c.grid.x, c.grid.y, c.grid.z};
    check(api_.launch(queue_, kernel, 3, nullptr, global.data(), local.data(), 0, nullptr, nullptr), "a launch");
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      check(api_.read(queue_, buffers[i], 1, 0, bytes[i].size(), bytes[i].data(), 0, nullptr, nullptr), "a copy");
      api_.release_buffer(buffers[i]);
    }
    return bytes;
  }

  const Api& api_;
  Handle id_, context_ = nullptr, queue_ = nullptr;
  std::string name_;
};

}  // namespace

std::vector<std::unique_ptr<OpenClDevice>> opencl_devices(std::string& reason) {
  static Api api;
  static void* const library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed: drivers keep threads
  if (&__lsan_disable != nullptr) __lsan_disable();
  std::vector<std::unique_ptr<OpenClDevice>> found;
  reason = "no OpenCL loader library";
  if (library == nullptr || !load(library, api)) return found;
  reason = "no OpenCL device";
  std::array<Handle, 8> platforms{};
  unsigned count = 0;
  if (api.platforms(platforms.size(), platforms.data(), &count) != 0) return found;
  for (unsigned p = 0; p < count && p < platforms.size(); ++p) {
    std::array<Handle, 8> devices{};
    unsigned devices_count = 0;
    if (api.devices(platforms[p], kEveryDevice, devices.size(), devices.data(), &devices_count) != 0) continue;  // a platform may be empty
    for (unsigned d = 0; d < devices_count && d < devices.size(); ++d) found.push_back(std::make_unique<Device>(api, devices[d]));
  }
  return found;
}

}  // namespace wick::ir
