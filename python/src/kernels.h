// What the two files of kernels share: names of elements and types (kernel_builder.cpp), which also a kernel's text is described by.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "wick/kernel.h"

namespace wick_python {

// "f32", "u8" …; f8e4m3 and bool are read as u8. Raises ValueError, which lists the valid names.
[[nodiscard]] wick::ir::Element element_named(const std::string& name);
[[nodiscard]] wick::ir::Type parameter_type_named(const std::string& name);

void bind_kernel_builder(nanobind::module_& module);

}  // namespace wick_python
