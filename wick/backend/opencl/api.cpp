#include "wick/backend/opencl/api.h"

#include <span>

namespace wick::opencl {
namespace {

template <class Function>
void bind(const DynamicLibrary& library, const char* name, Function*& function) {
  library.bind(name, function, "OpenCL 1.2 or newer is needed");
}

}  // namespace

Api load_api(const std::string& name) {
  Api api;
  api.library = open_first(std::span(&name, 1), "the loader of OpenCL's drivers",
                           "install it (Debian's package ocl-icd-libopencl1) and the driver of the device");
  const DynamicLibrary& library = *api.library;
  bind(library, "clGetPlatformIDs", api.get_platform_ids);
  bind(library, "clGetPlatformInfo", api.get_platform_info);
  bind(library, "clGetDeviceIDs", api.get_device_ids);
  bind(library, "clGetDeviceInfo", api.get_device_info);
  bind(library, "clCreateContext", api.create_context);
  bind(library, "clReleaseContext", api.release_context);
  bind(library, "clCreateCommandQueue", api.create_command_queue);
  bind(library, "clReleaseCommandQueue", api.release_command_queue);
  bind(library, "clCreateBuffer", api.create_buffer);
  bind(library, "clCreateSubBuffer", api.create_sub_buffer);
  bind(library, "clReleaseMemObject", api.release_mem_object);
  bind(library, "clCreateProgramWithSource", api.create_program_with_source);
  bind(library, "clCreateProgramWithBinary", api.create_program_with_binary);
  bind(library, "clBuildProgram", api.build_program);
  bind(library, "clGetProgramInfo", api.get_program_info);
  bind(library, "clGetProgramBuildInfo", api.get_program_build_info);
  bind(library, "clReleaseProgram", api.release_program);
  bind(library, "clCreateKernel", api.create_kernel);
  bind(library, "clGetKernelWorkGroupInfo", api.get_kernel_work_group_info);
  bind(library, "clSetKernelArg", api.set_kernel_arg);
  bind(library, "clReleaseKernel", api.release_kernel);
  bind(library, "clEnqueueWriteBuffer", api.enqueue_write_buffer);
  bind(library, "clEnqueueReadBuffer", api.enqueue_read_buffer);
  bind(library, "clEnqueueCopyBuffer", api.enqueue_copy_buffer);
  bind(library, "clEnqueueFillBuffer", api.enqueue_fill_buffer);
  bind(library, "clEnqueueNDRangeKernel", api.enqueue_nd_range_kernel);
  bind(library, "clEnqueueMarkerWithWaitList", api.enqueue_marker);
  bind(library, "clFlush", api.flush);
  bind(library, "clFinish", api.finish);
  bind(library, "clWaitForEvents", api.wait_for_events);
  bind(library, "clGetEventInfo", api.get_event_info);
  bind(library, "clGetEventProfilingInfo", api.get_event_profiling_info);
  bind(library, "clReleaseEvent", api.release_event);
  return api;
}

}  // namespace wick::opencl
