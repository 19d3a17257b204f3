// The null backend plans: its buffers have sizes and no memory, its ops do nothing, and its counters tell what a run would allocate.
#include <algorithm>
#include <atomic>
#include <utility>

#include "wick/base/fail.h"
#include "wick/device/registry.h"

namespace wick::null {
namespace {

struct Counters {
  std::atomic<size_t> now{0};
  std::atomic<size_t> peak{0};
};

class NullBuffer final : public Buffer {
 public:
  NullBuffer(size_t bytes, std::shared_ptr<Counters> counters) : bytes_(bytes), counters_(std::move(counters)) {
    const size_t now = counters_->now.fetch_add(bytes_) + bytes_;
    size_t peak = counters_->peak.load();
    while (now > peak && !counters_->peak.compare_exchange_weak(peak, now)) {}
  }
  ~NullBuffer() override { counters_->now.fetch_sub(bytes_); }

  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::byte* host_data() noexcept override { return nullptr; }

 private:
  size_t bytes_;
  std::shared_ptr<Counters> counters_;
};

// Takes bytes and forgets them; what it gives back is zeros.
class NullQueue final : public Queue {
 public:
  void upload(const std::byte* /*source*/, Buffer& /*target*/, size_t /*offset*/, size_t /*bytes*/) override {}
  void download(const Buffer& /*source*/, size_t /*offset*/, std::byte* target, size_t bytes) override {
    std::fill_n(target, bytes, std::byte{0});
  }
  void copy(Buffer& /*source*/, size_t /*source_offset*/, Buffer& /*target*/, size_t /*target_offset*/, size_t /*bytes*/) override {}
  void fill(Buffer& /*target*/, size_t /*offset*/, size_t /*bytes*/, std::byte /*value*/) override {}
  void launch(const Launch& /*launch*/) override {}
  void synchronize() override {}
};

class NullRuntime final : public Runtime {
 public:
  NullRuntime() { caps_.name = "null"; }

  [[nodiscard]] const DeviceCaps& caps() const noexcept override { return caps_; }
  [[nodiscard]] std::unique_ptr<Buffer> allocate(size_t bytes, Lifetime /*lifetime*/) override {
    return std::make_unique<NullBuffer>(bytes, counters_);
  }
  [[nodiscard]] std::unique_ptr<Buffer> import_host(std::byte* data, size_t bytes, std::shared_ptr<const void> owner) override {
    return wrap_host_memory(data, bytes, std::move(owner));
  }
  [[nodiscard]] Queue& queue() noexcept override { return queue_; }
  [[nodiscard]] OpFunction override_for(OpId /*op*/, int /*kind*/, DType /*dtype*/) const noexcept override {
    return [](const OpCall& /*call*/) {};
  }
  [[nodiscard]] std::shared_ptr<const Program> compile(const ir::Kernel& kernel) override {
    return std::make_shared<const Program>(kernel);
  }
  [[nodiscard]] size_t allocated_bytes() const noexcept override { return counters_->now.load(); }
  [[nodiscard]] size_t peak_allocated_bytes() const noexcept override { return counters_->peak.load(); }

 private:
  DeviceCaps caps_;
  NullQueue queue_;
  std::shared_ptr<Counters> counters_ = std::make_shared<Counters>();
};

// None: a device that computes nothing is used only when named.
std::vector<DeviceInfo> probe() { return {}; }

std::unique_ptr<Runtime> open(int index, const DeviceOptions& /*options*/) {
  if (index != 0) return nullptr;
  return std::make_unique<NullRuntime>();
}

}  // namespace

extern const Backend kBackend;
const Backend kBackend = {DeviceKind::null, probe, open};

}  // namespace wick::null
