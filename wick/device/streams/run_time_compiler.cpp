#include "wick/device/streams/run_time_compiler.h"

#include <fmt/format.h>

#include <utility>

#include "wick/base/fail.h"
#include "wick/device/kernel_driver.h"

namespace wick {
namespace {

// The compiler's programs, destroyed when they go.
struct CompiledText {
  void* handle = nullptr;
  int (*destroy)(void**);
  explicit CompiledText(int (*how)(void**)) : destroy(how) {}
  ~CompiledText() {
    if (handle != nullptr) destroy(&handle);
  }
  CompiledText(const CompiledText&) = delete;
  CompiledText& operator=(const CompiledText&) = delete;
};

}  // namespace

RunTimeCompiler::RunTimeCompiler(std::shared_ptr<const DynamicLibrary> library, const RunTimeCompilerNames& names)
    : library_(std::move(library)), names_(names) {
  const auto bind = [this]<class Function>(std::string_view name, Function*& function) { function = find<Function>(name); };
  bind("CreateProgram", functions_.create);
  bind("DestroyProgram", functions_.destroy);
  bind("CompileProgram", functions_.compile);
  bind("GetProgramLogSize", functions_.log_size);
  bind("GetProgramLog", functions_.log);
  bind("GetErrorString", functions_.status_name);
  for (const std::string_view code : names_.codes) {
    static_cast<void>(find<int(void*, char*)>(fmt::format("Get{}", code)));
    static_cast<void>(find<int(void*, size_t*)>(fmt::format("Get{}Size", code)));
  }
  check(find<int(int*, int*)>("Version")(&release_.first, &release_.second), "Version");
}

void* RunTimeCompiler::find_any(std::string_view name) const {
  return library_->require(fmt::format("{}{}", names_.prefix, name).c_str(), names_.needed);
}

void RunTimeCompiler::check(int status, std::string_view name) const {
  if (status == 0) return;
  const std::string call = fmt::format("{}{}", names_.prefix, name), text = functions_.status_name(status);
  names_.raise(ErrorCode::unsupported, fmt::format("{}: {}: {}", library_->name(), call, text), {call, status, text});
}

std::string RunTimeCompiler::log_of(void* program) const {
  size_t bytes = 0;
  if (functions_.log_size(program, &bytes) != 0) return {};
  std::string log(bytes, '\0');
  if (functions_.log(program, log.data()) != 0) return {};
  log.resize(log.find_last_not_of(std::string_view("\0\n ", 3)) + 1);
  return log;
}

std::vector<std::byte> RunTimeCompiler::run(const std::string& text, std::span<const std::string> options, std::string_view code,
                                            const Headers& headers) const {
  std::vector<const char*> all;
  for (const std::string& option : options) all.push_back(option.c_str());
  CompiledText program(functions_.destroy);
  check(functions_.create(&program.handle, text.c_str(), "kernel", static_cast<int>(headers.texts.size()), headers.texts.data(),
                          headers.names.data()),
        "CreateProgram");
  const int status = functions_.compile(program.handle, static_cast<int>(all.size()), all.data());
  if (status != 0) throw CompilerError{fmt::format("{}: {}", functions_.status_name(status), log_of(program.handle))};
  const std::string get = fmt::format("Get{}", code), get_size = get + "Size";
  size_t bytes = 0;
  check(find<int(void*, size_t*)>(get_size)(program.handle, &bytes), get_size);
  std::vector<std::byte> binary(bytes);
  check(find<int(void*, char*)>(get)(program.handle, reinterpret_cast<char*>(binary.data())), get);
  return binary;
}

}  // namespace wick
