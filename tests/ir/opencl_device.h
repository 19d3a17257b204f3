// OpenCL devices of this machine, through the loader library opened at run time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/tools.h"

namespace wick::ir {

class OpenClDevice {
 public:
  virtual ~OpenClDevice() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  // Builds and runs the text of a case on its buffers; gives the buffers afterwards. Fails with the driver's log.
  [[nodiscard]] virtual std::vector<std::vector<std::byte>> run(const Text& text) = 0;
};

// Every device of every platform; empty with the reason if there is none.
[[nodiscard]] std::vector<std::unique_ptr<OpenClDevice>> opencl_devices(std::string& reason);

}  // namespace wick::ir
