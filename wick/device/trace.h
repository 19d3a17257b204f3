// A TracingQueue notes what another queue is given and how long the device took for it, for Chrome's trace viewer.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "wick/base/atomic_file.h"
#include "wick/device/queue.h"

namespace wick {

// Two rows: when the host queued each launch and copy, and when the device ran it (by the device's clock where it has one, counted from
// the first event). The file is written, whole, when the queue goes; so a program that is killed leaves none.
// Errors of the constructor: io, not_found, where the file cannot be written.
class TracingQueue final : public Queue {
 public:
  TracingQueue(Queue& inner, std::string device, const std::filesystem::path& file);
  ~TracingQueue() override;

  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override;
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override;
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override;
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override;
  void launch(const Launch& launch) override;
  void flush() override { inner_.flush(); }
  void synchronize() override;
  [[nodiscard]] std::unique_ptr<Event> record() override { return inner_.record(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Span {
    std::string name, detail;
    double host_begin, host_seconds;  // since the queue was made
    double device_begin = 0, device_seconds = 0;
    bool on_device = false;      // the device's times are known
    std::unique_ptr<Event> end;  // until they are read
  };

  template <class Call>
  void note(std::string name, std::string detail, Call&& call);
  void read_times();
  void write();
  [[nodiscard]] double now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  Queue& inner_;
  std::string device_;
  AtomicFile file_;
  Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  std::vector<Span> spans_;
  std::unique_ptr<Event> first_;
  size_t read_ = 0;  // spans whose times were read
};

}  // namespace wick
