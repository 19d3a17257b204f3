#include "wick/tensor/compiled_kernel.h"

#include <bit>

#include "wick/base/fail.h"
#include "wick/kernels/numbers.h"

namespace wick {
namespace {

std::string describe(const KernelBuffer& buffer) {
  return fmt::format("{} {}", to_string(buffer.storage().dtype()), buffer.layout().shape().to_string());
}

bool takes(ir::Element element, DType dtype) {
  return element == ir::Element::u32 || (!is_quantized(dtype) && kernels::element_of(dtype) == element);
}

// In the order of KernelParameter's alternatives.
constexpr std::array<ir::Type, 3> kParameterTypes{ir::Type::u32, ir::Type::i32, ir::Type::f32};

uint32_t bits_of(const KernelParameter& parameter) {
  return std::visit([](auto value) { return std::bit_cast<uint32_t>(value); }, parameter);
}

}  // namespace

CompiledKernel::CompiledKernel(const ir::Kernel& kernel, const Device& device)
    : device_(device),
      name_(kernel.name),
      buffers_(kernel.buffers),
      parameters_(kernel.parameters),
      program_(device.runtime().compile(kernel)) {}

CompiledKernel::CompiledKernel(const std::string& name, const KernelSource& source, const std::string& entry,
                               const KernelSignature& signature, const Device& device)
    : device_(device),
      name_(name),
      buffers_(signature.buffers),
      parameters_(signature.scalars),
      program_(device.compile(name, source, entry, signature)) {}

void CompiledKernel::check_buffer(const ir::BufferArgument& argument, const KernelBuffer& given) const {
  const Storage& storage = given.storage();
  if (&storage.device().runtime() != &device_.runtime()) {
    fail(ErrorCode::device_mismatch, "kernel {}: buffer {} is on {}, but the kernel was compiled for {}", name_, argument.name,
         storage.device().location().to_string(), device_.location().to_string());
  }
  if (!takes(argument.element, storage.dtype())) {
    fail(ErrorCode::dtype_mismatch, "kernel {}: buffer {} has elements of {}, and the tensor is {}", name_, argument.name,
         to_string(argument.element), describe(given));
  }
  if (!given.layout().is_contiguous() || given.layout().offset() != 0) {
    fail(ErrorCode::unsupported, "kernel {}: buffer {}: a view of {} that is not row-major from the beginning of its storage; copy() it",
         name_, argument.name, describe(given));
  }
  if (given.layout().elements() == 0) {
    fail(ErrorCode::invalid_argument, "kernel {}: buffer {}: {} has no elements; leave the launch out", name_, argument.name,
         describe(given));
  }
  if (given.is_tracked()) {
    fail(ErrorCode::unsupported, "kernel {}: buffer {}: {} is tracked, and a kernel has no gradient; detach it, or launch from a CustomOp",
         name_, argument.name, describe(given));
  }
}

void CompiledKernel::check_overlaps(std::span<const KernelBuffer> buffers) const {
  for (size_t i = 0; i < buffers.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const bool written = buffers_[i].access == ir::Access::read_write || buffers_[j].access == ir::Access::read_write;
      if (!written || &buffers[i].storage().buffer() != &buffers[j].storage().buffer()) continue;
      fail(ErrorCode::invalid_argument, "kernel {}: buffers {} and {} share their memory, and one of them is written; copy() one", name_,
           buffers_[j].name, buffers_[i].name);
    }
  }
}

void CompiledKernel::launch(ir::Grid grid, std::span<const KernelBuffer> buffers, std::span<const KernelParameter> parameters) const {
  if (buffers.size() != buffers_.size() || parameters.size() != parameters_.size()) {
    fail(ErrorCode::invalid_argument, "kernel {}: {} buffers and {} parameters given, {} and {} needed", name_, buffers.size(),
         parameters.size(), buffers_.size(), parameters_.size());
  }
  std::vector<BufferArgument> arguments;
  for (size_t i = 0; i < buffers.size(); ++i) {
    check_buffer(buffers_[i], buffers[i]);
    const Storage& storage = buffers[i].storage();
    const auto bytes = static_cast<size_t>(tensor_bytes(storage.dtype(), buffers[i].layout().elements()));
    arguments.push_back({&storage.buffer(), 0, bytes});
  }
  check_overlaps(buffers);
  std::vector<uint32_t> bits;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ir::Type given = kParameterTypes[parameters[i].index()];
    if (given != parameters_[i].type) {
      fail(ErrorCode::invalid_argument, "kernel {}: parameter {} is of {}, not {}", name_, parameters_[i].name,
           to_string(parameters_[i].type), to_string(given));
    }
    bits.push_back(bits_of(parameters[i]));
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers_[i].access == ir::Access::read_write) buffers[i].storage().bump_version();
  }
  device_.runtime().launch({program_.get(), grid, arguments, bits});
}

}  // namespace wick
