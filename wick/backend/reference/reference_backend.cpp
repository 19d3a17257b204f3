// The reference backend is a device whose every program runs in the interpreter: slow, and right by definition.
#include <algorithm>
#include <cstring>
#include <utility>

#include "wick/base/fail.h"
#include "wick/device/interpreted_program.h"
#include "wick/device/kernel_runtime.h"
#include "wick/device/plain_caps.h"
#include "wick/device/registry.h"

namespace wick::reference {
namespace {

class ReferenceBuffer final : public Buffer {
 public:
  explicit ReferenceBuffer(size_t bytes) : words_(new Word[(bytes + sizeof(Word) - 1) / sizeof(Word)]), bytes_(bytes) {}

  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::byte* host_data() noexcept override { return words_[0].bytes; }

 private:
  struct alignas(256) Word {
    std::byte bytes[256];
  };
  std::unique_ptr<Word[]> words_;
  size_t bytes_;
};

std::byte* address(const Buffer& buffer, size_t offset) {
  const auto [block, first] = buffer.place();
  return block->host_data() + first + offset;
}

class ReferenceQueue final : public Queue {
 public:
  explicit ReferenceQueue(bool keeps_subnormals) : keeps_subnormals_(keeps_subnormals) {}

  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override {
    std::copy_n(source, bytes, address(target, offset));  // of no bytes, an address may be null
  }
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override {
    std::copy_n(address(source, offset), bytes, target);
  }
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override {
    std::memmove(address(target, target_offset), address(source, source_offset), bytes);
  }
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override {
    std::memset(address(target, offset), static_cast<int>(value), bytes);
  }
  void launch(const Launch& launch) override { interpret(launch, keeps_subnormals_); }
  void synchronize() override {}

 private:
  bool keeps_subnormals_;
};

// The first is the least that a device may be, so that every lowering is used; the second has all there is.
constexpr std::array<std::string_view, 2> kVariants{"plain", "full"};

DeviceCaps caps_of(std::string_view variant) {
  DeviceCaps caps;
  caps.name = "interpreter of kernels";
  caps.driver = variant;
  caps.max_group_size = 256;
  caps.max_shared_bytes = 65536;
  caps.max_parameter_bytes = 128;
  caps.min_subgroup_size = caps.max_subgroup_size = 8;
  caps.f16_arithmetic = true;
  caps.bf16_arithmetic = true;
  caps.int8_dot = true;
  caps.storage_8bit = true;
  caps.storage_16bit = true;
  caps.int64 = true;
  caps.f64_arithmetic = true;
  caps.f32_atomic_add = true;
  caps.tiles = {{8, 8, 8}};
  if (variant == "full") return caps;
  caps.max_shared_bytes = 32768;
  return plain_caps(std::move(caps));
}

class ReferenceDriver final : public KernelDriver {
 public:
  explicit ReferenceDriver(std::string_view variant) : caps_(caps_of(variant)), queue_(caps_.f32_subnormals) {}

  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return caps_; }
  [[nodiscard]] Queue& queue() noexcept override { return queue_; }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes) override {
    try {
      return std::make_unique<ReferenceBuffer>(bytes);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  [[nodiscard]] const ir::Dialect* dialect() const noexcept override { return nullptr; }
  [[nodiscard]] std::string binary_key() const override { return {}; }
  [[nodiscard]] std::vector<std::byte> compile(const ir::Kernel& /*prepared*/, const std::string& /*text*/) override { return {}; }
  [[nodiscard]] std::shared_ptr<const Program> load(ir::Kernel prepared, std::span<const std::byte> /*binary*/) override {
    return std::make_shared<const Program>(std::move(prepared));
  }

 private:
  DeviceCaps caps_;
  ReferenceQueue queue_;
};

std::vector<DeviceInfo> probe() { return {{0, caps_of("full"), 0}}; }

std::unique_ptr<Runtime> open(int index, const DeviceOptions& options) {
  if (index != 0) return nullptr;
  const std::string_view variant = options.variant.empty() ? kVariants.back() : std::string_view(options.variant);
  if (std::find(kVariants.begin(), kVariants.end(), variant) == kVariants.end()) {
    fail(ErrorCode::invalid_argument, "reference:0: no variant '{}'; it has plain and full", variant);
  }
  return std::make_unique<KernelRuntime>(std::make_unique<ReferenceDriver>(variant), options);
}

std::vector<VariantInfo> variants() { return {{std::string(kVariants[0]), true}, {std::string(kVariants[1]), true}}; }

}  // namespace

extern const Backend kBackend;
const Backend kBackend = {DeviceKind::reference, probe, open, variants};

}  // namespace wick::reference
