#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/backend/cpu/weights/weight_memory.h"
#include "wick/base/fail.h"
#include "wick/base/process.h"
#include "wick/device/linked_kernels.h"
#include "wick/device/registry.h"

namespace wick::cpu {
namespace {

// Host memory is copied at once.
class CpuQueue final : public Queue {
 public:
  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override {
    if (bytes > 0) std::memcpy(target.host_data() + offset, source, bytes);
  }
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override {
    if (bytes > 0) std::memcpy(target, source.host_data() + offset, bytes);
  }
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override {
    std::memmove(target.host_data() + target_offset, source.host_data() + source_offset, bytes);
  }
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override {
    std::memset(target.host_data() + offset, static_cast<int>(value), bytes);
  }
  // Kernels of users; the library's own ops are native code.
  void launch(const Launch& launch) override { require_interpreter(launch.program->kernel().name).run(launch, /*keeps_subnormals=*/true); }
  void synchronize() override {}
};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "CPU";
}

DeviceCaps describe(int threads, InstructionSet set) {
  DeviceCaps caps;
  caps.name = processor_name();
  caps.driver = to_string(set);
  caps.memory_bytes = physical_memory_bytes();
  caps.compute_units = threads;
  caps.int8_dot = simd_kernels(set).tile_kernels(DType::q8_0).multiply != nullptr;
  caps.bf16_arithmetic = simd_kernels(set).product.bf16_pairs.multiply != nullptr;
  caps.host_memory = true;
  // Of the interpreter, which runs kernels here.
  caps.max_group_size = 1024;
  caps.max_shared_bytes = 65536;
  caps.max_parameter_bytes = 128;
  caps.buffer_offset_alignment = 16;
  caps.int64 = caps.f64_arithmetic = caps.storage_8bit = caps.storage_16bit = caps.f16_arithmetic = caps.f32_atomic_add = true;
  return caps;
}

InstructionSet choose_set(std::string_view name) {
  const std::vector<InstructionSet> usable = usable_instruction_sets();
  if (name.empty()) return usable.back();
  std::vector<std::string_view> names;
  for (const InstructionSet set : usable) {
    if (to_string(set) == name) return set;
    names.push_back(to_string(set));
  }
  fail(ErrorCode::invalid_argument, "cpu: no instruction set '{}' here; this machine runs {}", name, fmt::join(names, ", "));
}

// DeviceOptions::variant: an instruction set, "prefetch=BYTES", or both with a comma between them.
struct CodePath {
  InstructionSet set;
  std::optional<int64_t> prefetch = std::nullopt;  // instead of what is learnt
};

CodePath parse_variant(std::string_view variant) {
  constexpr std::string_view kPrefetch = "prefetch=";
  const size_t at = variant.find(kPrefetch);
  if (at == std::string_view::npos) return {choose_set(variant)};
  const std::string_view number = variant.substr(at + kPrefetch.size());
  int64_t bytes = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), bytes);
  if (error != std::errc() || end != number.data() + number.size() || bytes < 0 || bytes > kMaxPrefetchBytes) {
    fail(ErrorCode::invalid_argument, "cpu: variant '{}': a prefetch distance is 0 to {} bytes, as in prefetch=4096", variant,
         kMaxPrefetchBytes);
  }
  if (at > 0 && variant[at - 1] != ',') {
    fail(ErrorCode::invalid_argument, "cpu: variant '{}': write avx2,prefetch=4096, with a comma after the instruction set", variant);
  }
  return {choose_set(variant.substr(0, at > 0 ? at - 1 : 0)), bytes};
}

std::vector<DeviceInfo> probe() { return {{0, describe(usable_cores(), usable_instruction_sets().back()), kCpuBackendScore}}; }

std::vector<VariantInfo> variants() {
  const std::vector<InstructionSet> usable = usable_instruction_sets();
  std::vector<VariantInfo> found;
  for (const InstructionSet set : compiled_instruction_sets()) {
    found.push_back({std::string(to_string(set)), std::find(usable.begin(), usable.end(), set) != usable.end()});
  }
  return found;
}

constexpr int kMaxThreads = 1024;

std::unique_ptr<Runtime> open(int index, const DeviceOptions& options) {
  if (index != 0) return nullptr;
  if (options.threads < 0 || options.threads > kMaxThreads) {
    fail(ErrorCode::invalid_argument, "cpu: {} threads asked for; give 1 to {}, or 0 for one on each usable core", options.threads,
         kMaxThreads);
  }
  const CodePath path = parse_variant(options.variant);
  return std::make_unique<CpuRuntime>(options.threads == 0 ? usable_cores() : options.threads, path.set, options.cache_directory,
                                      path.prefetch);
}

std::vector<LearntNumber> learnt(Runtime& runtime) {
  std::vector<LearntNumber> numbers;
  for (const PrefetchDistance& distance : static_cast<CpuRuntime&>(runtime).prefetch().known()) {
    numbers.push_back({fmt::format("prefetch distance, {} {}", kStreamKindNames[static_cast<size_t>(distance.stream.kind)],
                                   to_string(distance.stream.format)),
                       distance.bytes});
  }
  return numbers;
}

}  // namespace

Scratch& CpuRuntime::callers_scratch() noexcept {
  static thread_local Scratch scratch;
  return scratch;
}

CpuRuntime::CpuRuntime(int threads, InstructionSet set, const std::string& cache_directory, std::optional<int64_t> prefetch)
    : caps_(describe(threads, set)),
      queue_(std::make_unique<CpuQueue>()),
      kernels_(simd_kernels(set)),
      threads_(threads),
      prefetch_(fmt::format("{}{}\n{} threads\n", processor_identity(), to_string(set), threads), cache_directory, prefetch),
      scratch_(static_cast<size_t>(threads)) {}

std::unique_ptr<Buffer> CpuRuntime::import_host(std::byte* data, size_t bytes, std::shared_ptr<const void> owner) {
  return std::make_unique<WeightMemory>(data, bytes, std::move(owner));
}

Queue& CpuRuntime::queue() noexcept { return *queue_; }

std::shared_ptr<const Program> CpuRuntime::compile(const ir::Kernel& kernel) {
  return require_interpreter(kernel.name).prepare(kernel, caps_);
}

bool CpuRuntime::rest() noexcept {
  constexpr size_t kRestingBytes = size_t{16} << 20;
  memory_->release_kept(kRestingBytes);
  for (Scratch& scratch : scratch_) scratch.release_all();
  return true;
}

OpFunction CpuRuntime::override_for(OpId op, int kind, DType dtype) const noexcept {
  return has_loop(kernels_, op, kind, dtype) ? op_function(op, dtype) : nullptr;
}

extern const Backend kBackend;
const Backend kBackend = {.kind = DeviceKind::cpu, .probe = probe, .open = open, .variants = variants, .learnt = learnt};

}  // namespace wick::cpu
