#include "wick/device/linked_kernels.h"

#include "wick/base/fail.h"

namespace wick {

const KernelInterpreter& require_interpreter(std::string_view kernel) {
  if (const KernelInterpreter* interpreter = linked_interpreter()) return *interpreter;
  fail(ErrorCode::unsupported,
       "kernel {}: this program cannot run custom kernels on the CPU, since it is linked without the kernel interpreter; use wick, or a "
       "program linked with the interpreter",
       kernel);
}

}  // namespace wick
