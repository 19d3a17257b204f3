#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "ir/kernel_cases.h"
#include "wick/base/half.h"
#include "wick/ir/arithmetic.h"
#include "wick/ir/interpreter.h"

namespace wick::ir {

DeviceCaps plain_caps() {
  DeviceCaps caps;
  caps.name = "plain";
  caps.max_group_size = 256;
  caps.max_shared_bytes = 32768;
  caps.max_parameter_bytes = 128;
  caps.f16_arithmetic = caps.int8_dot = caps.storage_8bit = caps.storage_16bit = true;
  return caps;
}

DeviceCaps subgroup_caps() {
  DeviceCaps caps = plain_caps();
  caps.name = "subgroups";
  caps.max_storage_buffers = 32;
  caps.min_subgroup_size = caps.max_subgroup_size = 32;
  caps.int64 = caps.f64_arithmetic = true;
  return caps;
}

DeviceCaps tile_caps() {
  DeviceCaps caps = subgroup_caps();
  caps.name = "tiles";
  caps.tiles = {{16, 16, 16}};
  caps.max_shared_bytes = 49152;
  return caps;
}

DeviceCaps bare_caps() {
  DeviceCaps caps;
  caps.name = "bare";
  caps.max_group_size = 256;
  caps.max_shared_bytes = 16384;
  caps.max_parameter_bytes = 128;
  return caps;
}

namespace {

std::size_t size_of(Element element) { return static_cast<std::size_t>(info(element).bytes); }

double number_at(Element element, const std::byte* at) {
  uint64_t raw = 0;
  std::memcpy(&raw, at, size_of(element));
  switch (element) {
    case Element::i8: return static_cast<int8_t>(raw);
    case Element::i16: return static_cast<int16_t>(raw);
    case Element::bf16: return static_cast<double>(bf16_bits_to_float(static_cast<uint16_t>(raw)));
    default: {
      const Type type = register_type(element);
      return is_float(type) ? real_of(type, raw) : static_cast<double>(whole_of(type, raw));
    }
  }
}

void put_number(Element element, std::byte* at, double value) {
  const Type type = register_type(element);
  uint64_t raw = is_float(type) ? bits_of_real(type, value) : bits_of_whole(type, static_cast<int64_t>(value));
  if (element == Element::bf16) raw = float_to_bf16_bits(static_cast<float>(value));
  std::memcpy(at, &raw, size_of(element));
}

// Whole words, as devices without narrow storage need.
std::size_t padded(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

}  // namespace

std::vector<double> numbers_of(Element element, const std::vector<std::byte>& bytes) {
  std::vector<double> numbers(bytes.size() / size_of(element));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = number_at(element, bytes.data() + i * size_of(element));
  return numbers;
}

CaseBuffer input(Element element, const std::vector<double>& values) {
  CaseBuffer buffer{element, std::vector<std::byte>(padded(values.size() * size_of(element))), {}, 0, 0};
  for (std::size_t i = 0; i < values.size(); ++i) put_number(element, buffer.bytes.data() + i * size_of(element), values[i]);
  return buffer;
}

CaseBuffer output(Element element, std::vector<double> expected, double absolute, double relative) {
  CaseBuffer buffer = input(element, std::vector<double>(expected.size(), 0));
  // Spoilt, so that an element that is not written differs; atomics need zeros and say so by writing their own.
  for (std::byte& b : buffer.bytes) b = std::byte{0x5a};
  buffer.expected = std::move(expected);
  buffer.absolute = absolute;
  buffer.relative = relative;
  return buffer;
}

CaseBuffer raw_input(Element element, std::vector<std::byte> bytes) {
  bytes.resize(padded(bytes.size()));
  return {element, std::move(bytes), {}, 0, 0};
}

std::string differences(const KernelCase& c, const std::vector<std::vector<std::byte>>& outputs) {
  for (std::size_t b = 0; b < c.buffers.size(); ++b) {
    const CaseBuffer& buffer = c.buffers[b];
    if (buffer.expected.empty()) {
      if (outputs[b] != buffer.bytes) return fmt::format("{}: buffer {}, an input, was written to", c.name, b);
      continue;
    }
    const std::vector<double> got = numbers_of(buffer.element, outputs[b]);
    for (std::size_t i = 0; i < buffer.expected.size(); ++i) {
      const double error = std::fabs(got[i] - buffer.expected[i]);
      if (std::isnan(got[i]) && std::isnan(buffer.expected[i])) continue;
      if (error <= buffer.absolute + buffer.relative * std::fabs(buffer.expected[i])) continue;
      return fmt::format("{}: buffer {}[{}] is {:.9g}, expected {:.9g}", c.name, b, i, got[i], buffer.expected[i]);
    }
    for (std::size_t i = buffer.expected.size() * size_of(buffer.element); i < outputs[b].size(); ++i) {
      if (outputs[b][i] != buffer.bytes[i]) return fmt::format("{}: buffer {} was written to behind its end", c.name, b);
    }
  }
  return {};
}

std::vector<std::vector<std::byte>> interpreted(const Kernel& kernel, const KernelCase& c) {
  std::vector<std::vector<std::byte>> buffers;
  for (const CaseBuffer& buffer : c.buffers) buffers.push_back(buffer.bytes);
  LaunchArguments arguments;
  for (std::vector<std::byte>& buffer : buffers) arguments.buffers.emplace_back(buffer);
  arguments.parameters = c.parameters;
  interpret(kernel, c.grid, arguments);
  return buffers;
}

}  // namespace wick::ir
