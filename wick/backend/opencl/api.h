// The functions of the OpenCL loader, found when the program runs: nothing is linked.
#pragma once

#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <memory>
#include <string>

#include "wick/base/dynlib.h"
#include "wick/device/owned_handle.h"

namespace wick::opencl {

struct Api {
  decltype(&clGetPlatformIDs) get_platform_ids = nullptr;
  decltype(&clGetPlatformInfo) get_platform_info = nullptr;
  decltype(&clGetDeviceIDs) get_device_ids = nullptr;
  decltype(&clGetDeviceInfo) get_device_info = nullptr;
  decltype(&clCreateContext) create_context = nullptr;
  decltype(&clReleaseContext) release_context = nullptr;
  decltype(&clCreateCommandQueue) create_command_queue = nullptr;
  decltype(&clReleaseCommandQueue) release_command_queue = nullptr;
  decltype(&clCreateBuffer) create_buffer = nullptr;
  decltype(&clCreateSubBuffer) create_sub_buffer = nullptr;
  decltype(&clReleaseMemObject) release_mem_object = nullptr;
  decltype(&clCreateProgramWithSource) create_program_with_source = nullptr;
  decltype(&clCreateProgramWithBinary) create_program_with_binary = nullptr;
  decltype(&clBuildProgram) build_program = nullptr;
  decltype(&clGetProgramInfo) get_program_info = nullptr;
  decltype(&clGetProgramBuildInfo) get_program_build_info = nullptr;
  decltype(&clReleaseProgram) release_program = nullptr;
  decltype(&clCreateKernel) create_kernel = nullptr;
  decltype(&clGetKernelWorkGroupInfo) get_kernel_work_group_info = nullptr;
  decltype(&clSetKernelArg) set_kernel_arg = nullptr;
  decltype(&clReleaseKernel) release_kernel = nullptr;
  decltype(&clEnqueueWriteBuffer) enqueue_write_buffer = nullptr;
  decltype(&clEnqueueReadBuffer) enqueue_read_buffer = nullptr;
  decltype(&clEnqueueCopyBuffer) enqueue_copy_buffer = nullptr;
  decltype(&clEnqueueFillBuffer) enqueue_fill_buffer = nullptr;
  decltype(&clEnqueueNDRangeKernel) enqueue_nd_range_kernel = nullptr;
  decltype(&clEnqueueMarkerWithWaitList) enqueue_marker = nullptr;
  decltype(&clFlush) flush = nullptr;
  decltype(&clFinish) finish = nullptr;
  decltype(&clWaitForEvents) wait_for_events = nullptr;
  decltype(&clGetEventInfo) get_event_info = nullptr;
  decltype(&clGetEventProfilingInfo) get_event_profiling_info = nullptr;
  decltype(&clReleaseEvent) release_event = nullptr;

  // Where the functions come from.
  std::shared_ptr<const DynamicLibrary> library;
};

// Errors: not_found for a library that is not there; unsupported, naming the function, for one of before OpenCL 1.2.
[[nodiscard]] Api load_api(const std::string& library);

// Owned<cl_mem> buffer(handle, {api.release_mem_object}).
template <class Handle>
using Owned = OwnedHandle<Handle, cl_int>;

}  // namespace wick::opencl
