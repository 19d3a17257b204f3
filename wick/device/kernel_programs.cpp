// A file of its own: a program whose devices run no kernels links nothing of it, and so nothing of ir.
#include "wick/device/runtime.h"

namespace wick {

const Program& Runtime::program(const ProgramKey& key, const std::function<ir::Kernel()>& make) {
  return programs_.get(key, [&] { return compile(make()); });
}

}  // namespace wick
