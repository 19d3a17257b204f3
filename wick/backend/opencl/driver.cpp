#include "wick/backend/opencl/driver.h"

#include <fmt/format.h>

#include <utility>

#include "wick/backend/opencl/status.h"
#include "wick/base/fail.h"

namespace wick::opencl {

OpenClDriver::OpenClDriver(std::shared_ptr<const Api> api, FoundDevice device, int index)
    : api_(std::move(api)), device_(std::move(device)), place_(fmt::format("opencl:{} ({})", index, device_.caps.name)) {
  cl_int status = CL_SUCCESS;
  context_ = {api_->create_context(nullptr, 1, &device_.id, nullptr, nullptr, &status), {api_->release_context}};
  check(status, "clCreateContext", place_);
  queue_ = std::make_unique<OpenClQueue>(*api_, context_.get(), device_.id, place_);
}

std::unique_ptr<Buffer> OpenClDriver::allocate(size_t bytes) {
  if (bytes > device_.caps.max_buffer_bytes) {
    fail(ErrorCode::unsupported, "{}: a buffer of {} bytes, and the device takes {} at most in one", place_, bytes,
         device_.caps.max_buffer_bytes);
  }
  cl_int status = CL_SUCCESS;
  Owned<cl_mem> handle(api_->create_buffer(context_.get(), CL_MEM_READ_WRITE, bytes, nullptr, &status), {api_->release_mem_object});
  if (status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES || status == CL_OUT_OF_HOST_MEMORY) return nullptr;
  check(status, "clCreateBuffer", place_);
  return std::make_unique<OpenClBuffer>(std::move(handle), bytes);
}

std::string OpenClDriver::binary_key() const {
  return fmt::format("{}\n{}\n{}", device_.caps.driver, device_.caps.name, device_.build_options);
}

std::vector<std::byte> OpenClDriver::compile(const ir::Kernel& /*prepared*/, const std::string& text) {
  return compile_text(compiler(), text);
}

std::shared_ptr<const Program> OpenClDriver::load(ir::Kernel prepared, std::span<const std::byte> binary) {
  return load_binary(compiler(), std::move(prepared), binary);
}

}  // namespace wick::opencl
