// A TextDriver is a driver whose API has no program binaries. Its "binary" is the source text that compiled; compile() keeps the pipeline
// for the load() that follows.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wick/device/submissions/submission_driver.h"

namespace wick {

// The result of compiling a text: a pipeline, or the compiler's error.
template <class Pipeline>
struct CompiledText {
  std::optional<Pipeline> pipeline;
  std::string refusal;
};

template <class Device, class Queue, class Pipeline>
class TextDriver : public SubmissionDriver<Device, Queue> {
 public:
  using SubmissionDriver<Device, Queue>::SubmissionDriver;

  [[nodiscard]] std::vector<std::byte> compile(const ir::Kernel& prepared, const std::string& text) override {
    CompiledText<Pipeline> made = compile_text(prepared, text);
    if (!made.pipeline) throw CompilerError{std::move(made.refusal)};
    const std::lock_guard lock(mutex_);
    last_ = {text, std::move(*made.pipeline)};
    const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

  [[nodiscard]] std::shared_ptr<const Program> load(ir::Kernel prepared, std::span<const std::byte> binary) override {
    const std::string text(reinterpret_cast<const char*>(binary.data()), binary.size());
    std::optional<Pipeline> pipeline = take(text);
    if (!pipeline) pipeline = compile_text(prepared, text).pipeline;
    return pipeline ? make_program(std::move(prepared), std::move(*pipeline)) : nullptr;
  }

 protected:
  [[nodiscard]] virtual CompiledText<Pipeline> compile_text(const ir::Kernel& prepared, const std::string& text) = 0;
  [[nodiscard]] virtual std::shared_ptr<const Program> make_program(ir::Kernel prepared, Pipeline pipeline) = 0;

 private:
  // None where another text came last, or it was taken.
  [[nodiscard]] std::optional<Pipeline> take(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (!last_ || last_->first != text) return std::nullopt;
    std::optional<Pipeline> pipeline(std::move(last_->second));
    last_.reset();
    return pipeline;
  }

  std::mutex mutex_;
  std::optional<std::pair<std::string, Pipeline>> last_;
};

}  // namespace wick
