#include "wick/backend/opencl/status.h"

#include <CL/cl_ext.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "wick/backend/opencl/opencl.h"

namespace wick::opencl {
namespace {

struct Name {
  cl_int status;
  const char* name;
};

constexpr std::array kNames{
    Name{CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
    Name{CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
    Name{CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
    Name{CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    Name{CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
    Name{CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    Name{CL_PROFILING_INFO_NOT_AVAILABLE, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    Name{CL_MEM_COPY_OVERLAP, "CL_MEM_COPY_OVERLAP"},
    Name{CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
    Name{CL_MISALIGNED_SUB_BUFFER_OFFSET, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    Name{CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    Name{CL_INVALID_VALUE, "CL_INVALID_VALUE"},
    Name{CL_INVALID_PLATFORM, "CL_INVALID_PLATFORM"},
    Name{CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
    Name{CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT"},
    Name{CL_INVALID_QUEUE_PROPERTIES, "CL_INVALID_QUEUE_PROPERTIES"},
    Name{CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
    Name{CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
    Name{CL_INVALID_BINARY, "CL_INVALID_BINARY"},
    Name{CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS"},
    Name{CL_INVALID_PROGRAM, "CL_INVALID_PROGRAM"},
    Name{CL_INVALID_PROGRAM_EXECUTABLE, "CL_INVALID_PROGRAM_EXECUTABLE"},
    Name{CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
    Name{CL_INVALID_KERNEL_DEFINITION, "CL_INVALID_KERNEL_DEFINITION"},
    Name{CL_INVALID_KERNEL, "CL_INVALID_KERNEL"},
    Name{CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX"},
    Name{CL_INVALID_ARG_VALUE, "CL_INVALID_ARG_VALUE"},
    Name{CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
    Name{CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
    Name{CL_INVALID_WORK_DIMENSION, "CL_INVALID_WORK_DIMENSION"},
    Name{CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
    Name{CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE"},
    Name{CL_INVALID_EVENT, "CL_INVALID_EVENT"},
    Name{CL_INVALID_OPERATION, "CL_INVALID_OPERATION"},
    Name{CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
    Name{CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE"},
    Name{CL_PLATFORM_NOT_FOUND_KHR, "CL_PLATFORM_NOT_FOUND_KHR"},
};

}  // namespace

bool is_memory(cl_int status) noexcept { return status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_HOST_MEMORY; }

// Extensions' own statuses begin at -1000.
bool is_invalid_call(cl_int status) noexcept { return status <= CL_INVALID_VALUE && status > -1000; }

std::string status_name(cl_int status) {
  const auto* const found = std::find_if(kNames.begin(), kNames.end(), [&](const Name& entry) { return entry.status == status; });
  return found != kNames.end() ? found->name : fmt::format("status {}", status);
}

void check(cl_int status, const char* call, std::string_view place) {
  if (status == CL_SUCCESS) return;
  const std::string name = status_name(status);
  throw OpenClError(is_memory(status) ? ErrorCode::out_of_memory : ErrorCode::no_device, fmt::format("{}: {}: {}", place, call, name),
                    {call, status, name});
}

}  // namespace wick::opencl
