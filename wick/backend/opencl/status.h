// OpenCL status codes as text and as errors.
#pragma once

#include <CL/cl.h>

#include <string>
#include <string_view>

namespace wick::opencl {

// "CL_OUT_OF_RESOURCES"; a number without a name as "status -9999".
[[nodiscard]] std::string status_name(cl_int status);

[[nodiscard]] bool is_memory(cl_int status) noexcept;
// Whether it says that the call cannot be, rather than that it failed.
[[nodiscard]] bool is_invalid_call(cl_int status) noexcept;

// Throws an OpenClError unless the status is CL_SUCCESS: out_of_memory or no_device, "<place>: <call>: <the status's name>".
void check(cl_int status, const char* call, std::string_view place);

}  // namespace wick::opencl
