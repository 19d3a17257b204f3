#include "ir/tools.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <unordered_set>

#include "ir/library_kernels.h"
#include "source_root.h"
#include "wick/ir/passes.h"

namespace wick::ir {

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "wick-ir-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for temporary files");
  folder_ = name;
}
ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string ScratchFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ / name) << text;
  return path(name);
}

CommandResult run_command(const std::string& command) {
  CommandResult result;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  char part[4096];
  for (std::size_t n = 0; (n = fread(part, 1, sizeof part, pipe)) > 0;) result.output.append(part, n);
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

bool has_program(const std::string& name) { return run_command("command -v " + name).status == 0; }

std::vector<Text> texts(const Dialect& dialect, const DeviceCaps& caps) {
  std::vector<KernelCase> cases = device_cases(caps);
  for (Kernel& kernel : sampled_kernels(caps, text_seed(), 2)) {
    const std::string name = fmt::format("sample_{}_{}", cases.size(), kernel.name);
    cases.push_back({.name = name, .kernel = std::move(kernel), .grid = {}, .buffers = {}, .parameters = {}});
  }
  std::vector<Text> all;
  std::unordered_set<std::string> known, names;
  for (KernelCase& c : cases) {
    Kernel prepared = prepare(c.kernel, caps);
    std::string text = print(prepared, dialect);
    if (!known.insert(text).second && c.buffers.empty()) continue;
    // Devices that differ have other kernels of the same name; here they are in one program.
    if (!names.insert(prepared.name).second) {
      prepared.name += fmt::format("_{}", all.size());
      text = print(prepared, dialect);
    }
    all.push_back({std::move(c), std::move(prepared), std::move(text)});
  }
  return all;
}

std::string without_includes(const std::string& text) {
  std::istringstream lines(text);
  std::string line, rest;
  while (std::getline(lines, line)) {
    if (!line.starts_with("#include")) rest += line + "\n";
  }
  return rest;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

std::string in_namespaces(const std::vector<Text>& all, const std::string& includes) {
  std::string program = includes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    program += fmt::format("namespace n{} {{\n{}}}\n", i, without_includes(all[i].text));
  }
  return program;
}

std::string host_program(const std::vector<Text>& all, const std::string& header) {
  std::string program = header;
  for (std::size_t i = 0; i < all.size(); ++i) {
    program += fmt::format("namespace n{} {{\n{}}}\n", i, without_includes(all[i].text));
    program += fmt::format(
        "extern \"C\" __attribute__((visibility(\"default\"))) void run_{0}(const unsigned* grid, void* const* buffers, const void* "
        "parameters) {{\n"
        "  shim_run(n{0}::{1}, grid, {2}, {3}, buffers, parameters);\n}}\n",
        i, entry_name(all[i].prepared), all[i].prepared.group_size, all[i].prepared.subgroup_size);
  }
  return program;
}

std::string run_on_host(const std::string& compiler, const std::string& program, const std::vector<Text>& all) {
  const ScratchFolder folder;
  const std::string source = folder.write("kernels.cpp", program), library = folder.path("kernels.so");
  const CommandResult compiled =
      run_command(fmt::format("{} -std=c++20 -w -O0 -ffp-contract=off -fvisibility=hidden -fPIC -shared -I{}/tests/ir/shim {} -o {}",
                              compiler, source_root().string(), source, library));
  if (compiled.status != 0) return compiled.output.substr(0, 4000);
  const std::unique_ptr<void, int (*)(void*)> handle(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL), dlclose);
  if (!handle) return dlerror();
  std::string wrong;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].runs()) continue;
    using Run = void (*)(const unsigned*, void* const*, const void*);
    const auto run = reinterpret_cast<Run>(dlsym(handle.get(), fmt::format("run_{}", i).c_str()));
    if (run == nullptr) return fmt::format("no run_{}", i);
    const KernelCase& c = all[i].source;
    std::vector<std::vector<std::byte>> buffers;
    for (const CaseBuffer& buffer : c.buffers) buffers.push_back(buffer.bytes);
    std::vector<void*> pointers;
    for (std::vector<std::byte>& buffer : buffers) pointers.push_back(buffer.data());
    const unsigned grid[3] = {c.grid.x, c.grid.y, c.grid.z};
    run(grid, pointers.data(), c.parameters.data());
    const std::string difference = differences(c, buffers);
    if (!difference.empty()) wrong += difference + "\n";
  }
  return wrong;
}

}  // namespace wick::ir
