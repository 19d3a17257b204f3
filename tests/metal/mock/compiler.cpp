// The mock's compiler: a text of MSL becomes C++ for the host (tests/ir/shim), and this machine's compiler makes a library of it. Libraries
// are kept in METAL_MOCK_CACHE, if it names a folder.
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <regex>
#include <sstream>

#include "mock.h"

namespace metal_mock {
namespace {

const char* const kFlags = " " METAL_MOCK_FLAGS;

std::string run(const std::string& command, int& status) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::array<char, 4096> part{};
  for (std::size_t n = 0; (n = fread(part.data(), 1, part.size(), pipe)) > 0;) output.append(part.data(), n);
  status = pclose(pipe);
  return output;
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string host_text(const std::string& text) {
  std::string rest = "#include \"metal_on_host.h\"\n", entries;
  std::istringstream lines(text);
  const std::string shared = "alignas(16) threadgroup", on_host = "alignas(16) static";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#include")) continue;
    for (std::size_t at = line.find(shared); at != std::string::npos; at = line.find(shared, at)) line.replace(at, shared.size(), on_host);
    rest += line + "\n";
  }
  const std::regex entry("kernel void (\\w+)\\(");
  for (std::sregex_iterator found(text.begin(), text.end(), entry), end; found != end; ++found) {
    const std::string name = (*found)[1];
    entries += "extern \"C\" __attribute__((visibility(\"default\"))) void run_" + name +
               "(const unsigned* grid, unsigned lanes, unsigned subgroup, void* const* buffers, const void* parameters) {\n  shim_run(" +
               name + ", grid, lanes, subgroup, buffers, parameters);\n}\n";
  }
  return rest + entries;
}

std::filesystem::path make_folder() {
  if (const char* kept = std::getenv("METAL_MOCK_CACHE")) {
    std::filesystem::create_directories(kept);
    return kept;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "metal-mock-XXXXXX").string();
  return mkdtemp(folder.data()) != nullptr ? folder : std::string("/tmp");
}

// The folder goes with the process, unless it is to be kept.
struct Folder {
  std::filesystem::path path = make_folder();
  ~Folder() {
    std::error_code ignored;
    if (std::getenv("METAL_MOCK_CACHE") == nullptr) std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace

void* compile(const std::string& text, std::string& log) {
  static const Folder folder;
  static const std::string shim = contents(METAL_MOCK_SHIM "/fibers.h") + contents(METAL_MOCK_SHIM "/metal_on_host.h") + kFlags;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const std::filesystem::path name = folder.path / std::to_string(std::hash<std::string>()(shim + text));
  const std::string library = name.string() + ".so", own = name.string() + "." + std::to_string(getpid());
  if (!std::filesystem::exists(library)) {
    std::ofstream(own + ".cpp") << host_text(text);
    int status = 0;
    log = run(METAL_MOCK_COMPILER + std::string(kFlags) + " -shared " + own + ".cpp -o " + own + ".so", status);
    std::filesystem::remove(own + ".cpp");
    if (status != 0) return nullptr;
    std::filesystem::rename(own + ".so", library);
  }
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);  // queued work may be of it
  if (handle == nullptr) log = dlerror();
  return handle;
}

Run find_kernel(void* library, const std::string& name) { return reinterpret_cast<Run>(dlsym(library, ("run_" + name).c_str())); }

}  // namespace metal_mock
