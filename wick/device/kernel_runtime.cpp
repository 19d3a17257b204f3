#include "wick/device/kernel_runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "wick/base/atomic_file.h"
#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/base/terminal_text.h"
#include "wick/ir/passes.h"

namespace wick {
namespace {

// What prepare() sees to for kernels of our own.
void check_signature(const ir::Kernel& kernel, const DeviceCaps& caps) {
  if (kernel.entry.empty()) fail(ErrorCode::invalid_argument, "kernel {}: no function is named", kernel.name);
  if (kernel.group_size == 0 || kernel.group_size > caps.max_group_size) {
    fail(ErrorCode::invalid_argument, "kernel {}: groups of {} lanes, and {} has 1 to {}", kernel.name, kernel.group_size, caps.name,
         caps.max_group_size);
  }
  if (kernel.buffers.size() > caps.max_storage_buffers || kernel.parameters.size() * sizeof(uint32_t) > caps.max_parameter_bytes) {
    fail(ErrorCode::invalid_argument, "kernel {}: {} buffers and {} scalars, and {} takes {} and {}", kernel.name, kernel.buffers.size(),
         kernel.parameters.size(), caps.name, caps.max_storage_buffers, caps.max_parameter_bytes / sizeof(uint32_t));
  }
  for (const ir::ParameterArgument& scalar : kernel.parameters) {
    if (scalar.type == ir::Type::u32 || scalar.type == ir::Type::i32 || scalar.type == ir::Type::f32) continue;
    fail(ErrorCode::invalid_argument, "kernel {}: scalar {} is of {}, and u32, i32 and f32 can be given", kernel.name, scalar.name,
         to_string(scalar.type));
  }
}

}  // namespace

std::string joined_lines(std::string_view log) {
  constexpr std::string_view kBlank = " \t\r";
  std::string joined;
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    line = line.substr(0, line.find_last_not_of(kBlank) + 1);
    if (line.empty()) continue;
    if (!joined.empty()) joined += " | ";
    joined += on_one_line(line);
  }
  return joined;
}

KernelRuntime::KernelRuntime(std::unique_ptr<KernelDriver> driver, const DeviceOptions& options)
    : driver_(std::move(driver)), allocator_(std::make_shared<CachingAllocator>(driver_)) {
  if (!options.cache_directory.empty() && driver_->dialect() != nullptr) cache_.emplace(options.cache_directory);
  if (options.validate) validation_ = std::make_shared<ValidatingQueue>(driver_);
  if (!options.trace_file.empty()) trace_.emplace(inner_queue(), caps().name, options.trace_file);
}

std::unique_ptr<Buffer> KernelRuntime::allocate(size_t bytes, Lifetime lifetime) {
  const bool recorded = lifetime == Lifetime::transient && is_recording();
  if (validation_ == nullptr) return allocator_->allocate(bytes, lifetime, recorded ? arena_ : nullptr);
  return validation_->guard(allocator_->allocate(validation_->guarded_bytes(bytes), lifetime), bytes);
}

std::unique_ptr<Buffer> KernelRuntime::import_host(std::byte* data, size_t bytes, std::shared_ptr<const void> owner) {
  if (validation_ == nullptr) {
    if (std::unique_ptr<Buffer> block = driver_->import_host(data, bytes, std::move(owner))) {
      return CachingAllocator::adopt(std::move(block), bytes);
    }
  }
  std::unique_ptr<Buffer> buffer = allocate(bytes, Lifetime::persistent);
  if (bytes > 0) queue().upload(data, *buffer, 0, bytes);
  return buffer;
}

std::shared_ptr<const Program> KernelRuntime::compile(const ir::Kernel& kernel) {
  ir::Kernel prepared = ir::prepare(kernel, caps());
  if (!is_planning()) return remember(make(std::move(prepared)));
  FutureProgram made = plan_->begin([this, prepared] { return make(prepared); });
  return remember(driver_->awaited(std::move(prepared), std::move(made)));
}

void KernelRuntime::compile_together(const std::function<void()>& body) {
  if (driver_->compilers() < 2 || validation_ != nullptr || is_recording()) return;
  const auto start = std::chrono::steady_clock::now();
  size_t programs = 0;
  {
    ProgramPlan plan(driver_->compilers());
    PlanningQueue queue(driver_->queue());
    if (!record_with(queue)) return;
    struct Recording {
      KernelRuntime& runtime;
      ~Recording() {
        runtime.plan_ = nullptr;
        runtime.stop_recording();
      }
    } const recording{*this};
    plan_ = &plan;
    body();
    programs = plan.size();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (programs > 0) log_info("{}: {} kernels were made ready in {:.2f} s", caps().name, programs, seconds.count());
}

std::shared_ptr<const Program> KernelRuntime::remember(std::shared_ptr<const Program> program) {
  const std::lock_guard lock(compiled_mutex_);
  std::erase_if(compiled_, [](const auto& entry) { return entry.second.program.expired(); });
  compiled_[program.get()] = {program, {}};
  return program;
}

const Program* KernelRuntime::split(const Program& program, std::span<const uint32_t> parts, uint32_t part_bytes) {
  const std::vector<uint32_t> key(parts.begin(), parts.end());
  const auto kept = [&](const std::shared_ptr<const Program>& made) -> const Program* {
    const std::lock_guard lock(compiled_mutex_);
    const auto found = compiled_.find(&program);
    WICK_ASSERT(found != compiled_.end());
    auto& programs = found->second.split;
    if (made != nullptr) programs.try_emplace(key, made);
    const auto split = programs.find(key);
    return split == programs.end() ? nullptr : split->second.get();
  };
  if (const Program* const made = kept(nullptr)) return made;
  std::optional<ir::Kernel> kernel = ir::split_buffers(program.kernel(), parts, part_bytes);
  return kernel ? kept(remember(make(std::move(*kernel)))) : nullptr;
}

std::shared_ptr<const Program> KernelRuntime::compile_source(const std::string& name, const KernelSource& source, const std::string& entry,
                                                             const KernelSignature& signature) {
  const ir::Dialect* const own = driver_->dialect();
  if (own == nullptr) return Runtime::compile_source(name, source, entry, signature);
  if (!driver_->takes(source.language)) {
    fail(ErrorCode::unsupported, "kernel {}: its source is {}, and {} takes {}", name, to_string(source.language), caps().name, own->name);
  }
  ir::Kernel kernel;
  kernel.name = name;
  kernel.entry = entry;
  kernel.group_size = signature.group_size;
  kernel.buffers = signature.buffers;
  kernel.parameters = signature.scalars;
  check_signature(kernel, caps());
  return remember(build(std::move(kernel), source.text));
}

std::shared_ptr<const Program> KernelRuntime::make(ir::Kernel prepared) {
  if (driver_->dialect() == nullptr) return driver_->load(std::move(prepared), {});
  const std::string text = ir::print(prepared, *driver_->dialect());
  return build(std::move(prepared), text);
}

std::shared_ptr<Buffer> KernelRuntime::share(Buffer& buffer) {
  return validation_ ? validation_->share(buffer) : allocator_->share(buffer, is_recording() ? arena_ : nullptr);
}

std::shared_ptr<const Program> KernelRuntime::share(const Program& program) {
  const std::lock_guard lock(compiled_mutex_);
  const auto found = compiled_.find(&program);
  WICK_ASSERT(found != compiled_.end());
  return std::shared_ptr<const Program>(found->second.program);
}

std::shared_ptr<const Program> KernelRuntime::build(ir::Kernel prepared, const std::string& text) {
  const std::string key = fmt::format("{}\n{}\n{}", driver_->dialect()->name, driver_->binary_key(), text);
  if (cache_) {
    if (const std::optional<std::vector<std::byte>> kept = cache_->find(key)) {
      if (std::shared_ptr<const Program> program = driver_->load(prepared, *kept)) return program;
      cache_->erase(key);
    }
  }
  const std::vector<std::byte> binary = compile_text(prepared, text);
  if (cache_) cache_->store(key, binary);
  std::shared_ptr<const Program> program = driver_->load(prepared, binary);
  if (program == nullptr) driver_->queue().synchronize();  // throws where that is because the device is lost
  if (program == nullptr)
    fail(ErrorCode::unsupported,
         "kernel {}: {} does not load what its own compiler made ({}): install the compiler that belongs to this driver, or a newer driver",
         prepared.name, caps().name, caps().driver);
  return program;
}

std::vector<std::byte> KernelRuntime::compile_text(const ir::Kernel& prepared, const std::string& text) {
  try {
    return driver_->compile(prepared, text);
  } catch (const CompilerError& error) {
    driver_->queue().synchronize();  // what the compiler of a lost device says is not about the text
    const ir::Dialect& dialect = *driver_->dialect();
    fail(ErrorCode::unsupported, "kernel {}: the {} compiler of {} refused it{}: {}", prepared.name, dialect.name, caps().name,
         keep_refused(prepared, text), joined_lines(error.log));
  }
}

// "; its text is in FILE", or what would keep it: nothing is written outside of the cache.
std::string KernelRuntime::keep_refused(const ir::Kernel& prepared, const std::string& text) const {
  if (!cache_) return "; open the device with a cache_directory to keep its text";
  std::string name = prepared.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char letter) { return std::isalnum(letter) == 0 && letter != '_' && letter != '-'; }, '_');
  const std::filesystem::path path = cache_->folder() / fmt::format("wick-refused-{}.{}", name, driver_->dialect()->extension);
  try {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);  // a link that somebody put there is not followed
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(text)));
    file.commit();
    return "; its text is in " + path.string();
  } catch (const Error&) {
    return {};  // the error is about the kernel
  }
}

}  // namespace wick
