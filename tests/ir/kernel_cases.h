// Kernels with inputs and what plain loops in f64 say about their outputs: for the interpreter, the passes and every language.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "wick/ir/kernel.h"
#include "wick/op/device_caps.h"

namespace wick::ir {

struct CaseBuffer {
  Element element{};
  std::vector<std::byte> bytes;
  std::vector<double> expected;       // empty: an input
  double absolute = 0, relative = 0;  // errors allowed: absolute + relative * |expected|
};

struct KernelCase {
  std::string name;
  Kernel kernel;
  Grid grid;
  std::vector<CaseBuffer> buffers;
  std::vector<uint32_t> parameters;
};

// Devices to prepare kernels for.
[[nodiscard]] DeviceCaps plain_caps();     // no subgroups, everything else but tiles, i64 and f64
[[nodiscard]] DeviceCaps subgroup_caps();  // as plain, with subgroups of 32, 64-bit types and 32 buffers
[[nodiscard]] DeviceCaps tile_caps();      // as subgroup, with matrix tiles 16 x 16 x 16
[[nodiscard]] DeviceCaps bare_caps();      // 256 lanes and 16 KiB of shared memory, and nothing else

// The cases as written for a device; those that it cannot run even when lowered are not among them.
[[nodiscard]] std::vector<KernelCase> kernel_cases(const DeviceCaps& caps);
// Of products with all that is fused with them, and of sampling.
[[nodiscard]] std::vector<KernelCase> linear_cases(const DeviceCaps& caps);
// Cases of single nodes and statements.
[[nodiscard]] std::vector<KernelCase> node_cases(const DeviceCaps& caps);
// All of these for the compiler of a device: kernels by matrix tiles only where it has such tiles. What they are lowered to elsewhere is
// tested in the interpreter; a compiler takes seconds to minutes for it.
[[nodiscard]] std::vector<KernelCase> device_cases(const DeviceCaps& caps);

// The elements of a buffer as numbers.
[[nodiscard]] std::vector<double> numbers_of(Element element, const std::vector<std::byte>& bytes);
[[nodiscard]] CaseBuffer input(Element element, const std::vector<double>& values);
[[nodiscard]] CaseBuffer output(Element element, std::vector<double> expected, double absolute = 0, double relative = 0);
[[nodiscard]] CaseBuffer raw_input(Element element, std::vector<std::byte> bytes);

// What is wrong with the outputs; empty if nothing is.
[[nodiscard]] std::string differences(const KernelCase& c, const std::vector<std::vector<std::byte>>& outputs);
// Runs a kernel on the case's buffers in the interpreter, and gives the buffers afterwards.
[[nodiscard]] std::vector<std::vector<std::byte>> interpreted(const Kernel& kernel, const KernelCase& c);

}  // namespace wick::ir
