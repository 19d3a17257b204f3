// Compilers and validators of the GPU languages, as far as this machine has them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ir/kernel_cases.h"
#include "wick/ir/dialect/dialect.h"
#include "wick/op/device_caps.h"

namespace wick::ir {

// A folder of this process, deleted with the object.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  // Writes a file and gives its path.
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

struct CommandResult {
  int status = 0;
  std::string output;  // of both streams
};
[[nodiscard]] CommandResult run_command(const std::string& command);
// Whether a program of this name is on PATH.
[[nodiscard]] bool has_program(const std::string& name);

// A case prepared for a device and printed.
struct Text {
  KernelCase source;  // without buffers: a kernel that is only compiled
  Kernel prepared;
  std::string text;
  [[nodiscard]] bool runs() const noexcept { return !source.buffers.empty(); }
};
// Every case, and two kernels of each function of the library, chosen by text_seed(): no text twice.
[[nodiscard]] std::vector<Text> texts(const Dialect& dialect, const DeviceCaps& caps);

// The text without its lines that begin with "#include", and with every `from` written as `to`.
[[nodiscard]] std::string without_includes(const std::string& text);
[[nodiscard]] std::string replaced(std::string text, const std::string& from, const std::string& to);

// All texts of one language in one file, each in a namespace; what they include comes first.
[[nodiscard]] std::string in_namespaces(const std::vector<Text>& all, const std::string& includes);
// One file of C++ that holds all texts, each in a namespace of its own and without its includes, behind `header`, and a function run_<i>
// for each.
[[nodiscard]] std::string host_program(const std::vector<Text>& all, const std::string& header);
// Compiles such a file into a library, loads it and runs every case; gives what differs or failed.
[[nodiscard]] std::string run_on_host(const std::string& compiler, const std::string& program, const std::vector<Text>& all);

}  // namespace wick::ir
