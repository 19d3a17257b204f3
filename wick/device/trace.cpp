#include "wick/device/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <span>
#include <utility>

#include "wick/base/json.h"
#include "wick/base/log.h"

namespace wick {
namespace {

// How many events a queue is asked to hold before their times are read.
constexpr size_t kMaxPending = 1000;

double microseconds(double seconds) { return std::round(seconds * 1e9) / 1e3; }

}  // namespace

TracingQueue::TracingQueue(Queue& inner, std::string device, const std::filesystem::path& file)
    : inner_(inner), device_(std::move(device)), file_(file), first_(inner.record()) {}

TracingQueue::~TracingQueue() {
  try {
    inner_.synchronize();
    read_times();
    write();
  } catch (const std::exception& error) {
    log_warning("the trace of {} was not written: {}", device_, error.what());
  }
}

template <class Call>
void TracingQueue::note(std::string name, std::string detail, Call&& call) {
  const std::lock_guard lock(mutex_);
  if (spans_.size() - read_ >= kMaxPending) {
    inner_.synchronize();
    read_times();
  }
  const double begin = now();
  call();
  spans_.push_back({std::move(name), std::move(detail), begin, now() - begin, 0, 0, false, inner_.record()});
}

// Of spans that are done: each begins where the one before it ended, as the queue runs in order.
void TracingQueue::read_times() {
  double previous = read_ == 0 ? 0 : spans_[read_ - 1].device_begin + spans_[read_ - 1].device_seconds;
  for (; read_ < spans_.size(); ++read_) {
    Span& span = spans_[read_];
    if (const std::optional<double> end = span.end->seconds_since(*first_)) {
      span.device_begin = previous;
      span.device_seconds = std::max(*end - previous, 0.0);
      span.on_device = true;
      previous = *end;
    }
    span.end.reset();
  }
}

void TracingQueue::write() {
  // One event a line, as a trace may be large.
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  for (int row = 0; row < 2; ++row) {
    const std::string name = row == 0 ? "queued by the host" : device_;
    const nlohmann::json event = {{"ph", "M"}, {"name", "thread_name"}, {"pid", 1}, {"tid", row}, {"args", {{"name", name}}}};
    text += json_text(event) + ",\n";
  }
  const auto add = [&](const Span& span, int row, double begin, double seconds) {
    const nlohmann::json event = {{"ph", "X"},
                                  {"name", span.name},
                                  {"pid", 1},
                                  {"tid", row},
                                  {"ts", microseconds(begin)},
                                  {"dur", microseconds(seconds)},
                                  {"args", {{"detail", span.detail}}}};
    text += json_text(event) + ",\n";
  };
  for (const Span& span : spans_) {
    add(span, 0, span.host_begin, span.host_seconds);
    if (span.on_device) add(span, 1, span.device_begin, span.device_seconds);
  }
  text.replace(text.size() - 2, 2, "\n]}\n");
  file_.write(std::as_bytes(std::span(text)));
  file_.commit();
}

void TracingQueue::upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) {
  note("upload", fmt::format("{} bytes", bytes), [&] { inner_.upload(source, target, offset, bytes); });
}

void TracingQueue::download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) {
  note("download", fmt::format("{} bytes", bytes), [&] { inner_.download(source, offset, target, bytes); });
}

void TracingQueue::copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) {
  note("copy", fmt::format("{} bytes", bytes), [&] { inner_.copy(source, source_offset, target, target_offset, bytes); });
}

void TracingQueue::fill(Buffer& target, size_t offset, size_t bytes, std::byte value) {
  note("fill", fmt::format("{} bytes", bytes), [&] { inner_.fill(target, offset, bytes, value); });
}

void TracingQueue::launch(const Launch& launch) {
  const ir::Kernel& kernel = launch.program->kernel();
  note(kernel.name, fmt::format("{} x {} x {} groups of {}", launch.grid.x, launch.grid.y, launch.grid.z, kernel.group_size),
       [&] { inner_.launch(launch); });
}

void TracingQueue::synchronize() {
  const std::lock_guard lock(mutex_);
  inner_.synchronize();
  read_times();
}

}  // namespace wick
