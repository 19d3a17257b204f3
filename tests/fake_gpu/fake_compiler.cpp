// NVRTC's interface or hiprtc's (hip_names.h) over this machine's compiler: kernels become code for the host. FAKE_NVRTC="version=11080,
// newest=90,refuse=1" makes it what a test needs; with together=2 nothing is compiled before two callers are in it at once. As old
// versions do, hiprtc aborts for an architecture with the prefix in FAKE_HIPRTC="unknown=gfx11". FAKE_HIPRTC="by=PROGRAM" has that program
// make the library (tests/amd_emulator/compile): PROGRAM ARCHITECTURE TEXT OUTPUT OPTIONS….
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "fake_module.h"
#include "pattern.h"

namespace {

constexpr int kSuccess = 0, kInvalidInput = 3, kCompilation = 6;

struct Program {
  std::string text, log;
  std::vector<char> image;
};

#ifdef FAKE_HIP
constexpr const char* kSettings = "FAKE_HIPRTC";
#else
constexpr const char* kSettings = "FAKE_NVRTC";
#endif

std::string settings() {
  const char* text = std::getenv(kSettings);
  return text != nullptr ? text : "";
}

std::string text_setting(const std::string& name) {
  const std::string all = settings();
  const std::size_t at = all.find(name + "=");
  return at == std::string::npos ? "" : all.substr(at + name.size() + 1, all.find(',', at) - at - name.size() - 1);
}

int setting(const char* name, int otherwise) {
  const std::string text = text_setting(name);
  return text.empty() ? otherwise : std::atoi(text.c_str());
}

#ifdef FAKE_HIP
// What the image is for, and how many lanes execute together.
std::pair<std::string, int> target_of(const std::string& architecture) {
  const std::string unknown = text_setting("unknown");
  if (!unknown.empty() && architecture.starts_with(unknown)) std::abort();
  return {architecture, architecture.starts_with("gfx9") ? 64 : 32};
}
#else
std::pair<std::string, int> target_of(const std::string& architecture) {
  if (!architecture.starts_with("sm_")) return {"", 32};
  return {architecture.substr(3, architecture.find_last_not_of('a') - 2), 32};
}

std::vector<int> targets() {
  std::vector<int> all{50, 60, 70, 75, 80, 86, 89, 90, 100, 120};
  std::erase_if(all, [](int target) { return target > setting("newest", 999) || target < setting("oldest", 0); });
  return all;
}

#endif

std::string run(const std::string& command, int& status) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::array<char, 4096> part{};
  for (std::size_t n = 0; (n = fread(part.data(), 1, part.size(), pipe)) > 0;) output.append(part.data(), n);
  status = pclose(pipe);
  return output;
}

// For the host: without includes, and with a function that binds the arguments of each kernel.
std::string host_text(const std::string& text) {
  std::string rest = "#include \"fake_kernel.h\"\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#include")) rest += line + "\n";
  }
  const wick::Pattern kernel(R"(__global__\s+void\s+(__launch_bounds__\([0-9]+\)\s+)?(\w+)\s*\()");
  for (const std::string& name : kernel.all(text, 2)) {
    rest += "extern \"C\" __attribute__((visibility(\"default\"))) void* fake_bind_" + name + "(void** parameters) { return fake_bind(" +
            name + ", parameters); }\n";
  }
  return rest;
}

// Whether so many callers have come at the same time, if one has to.
bool is_together() {
  static std::mutex mutex;
  static std::condition_variable changed;
  static int inside = 0;
  static bool came = false;
  const int wanted = setting("together", 0);
  std::unique_lock lock(mutex);
  if (wanted < 2) return came = false, true;
  ++inside;
  came = came || inside >= wanted;
  changed.notify_all();
  changed.wait_for(lock, std::chrono::seconds(20), [] { return came; });
  --inside;
  return came;
}

// The command that makes kernel.so from kernel.cpp, or of another program's from kernel.hip.
std::string command_for(const std::string& by, const std::string& target, int warp, const std::vector<std::string>& options) {
  // Where fake_kernel.h has been compiled for this width of a warp, it is taken from there.
  const std::string width = std::to_string(warp);
  if (by.empty())
    return FAKE_COMPILER " -DFAKE_WARP=" + width + " -I" FAKE_PRECOMPILED + width + " " FAKE_FLAGS " -shared kernel.cpp -o kernel.so";
  std::string command = "'" + by + "' '" + target + "' kernel.hip kernel.so";
  for (const std::string& option : options) command += " '" + option + "'";
  return command;
}

int compile(Program& program, const std::string& architecture, const std::vector<std::string>& options) {
  if (!is_together()) {
    program.log = "nobody else came";
    return kCompilation;
  }
  if (setting("refuse", 0) != 0) {
    program.log = "told to refuse";
    return kCompilation;
  }
  int status = 0;
  const auto [target, warp] = target_of(architecture);  // may abort: nothing is left behind
  std::string folder = (std::filesystem::temp_directory_path() / "fake-compiler-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return kInvalidInput;
  const std::string by = text_setting("by");
  std::ofstream(folder + (by.empty() ? "/kernel.cpp" : "/kernel.hip")) << (by.empty() ? host_text(program.text) : program.text);
  program.log = run("cd " + folder + " && " + command_for(by, target, warp, options), status);
  std::ifstream file(folder + "/kernel.so", std::ios::binary);
  const std::vector<char> code((std::istreambuf_iterator<char>(file)), {});
  std::filesystem::remove_all(folder);
  if (status != 0) return kCompilation;
  fake_gpu::ImageHeader header{};
  std::memcpy(header.magic, fake_gpu::kImageMagic, sizeof header.magic);
  header.bytes = code.size();
  std::strncpy(header.target, target.c_str(), sizeof header.target - 1);
  program.image.assign(reinterpret_cast<const char*>(&header), reinterpret_cast<const char*>(&header + 1));
  program.image.insert(program.image.end(), code.begin(), code.end());
  return kSuccess;
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE int nvrtcVersion(int* major, int* minor) {
  const int version = setting("version", 12080);
  *major = version / 1000;
  *minor = version % 1000 / 10;
  return kSuccess;
}
FAKE const char* nvrtcGetErrorString(int status) {
  return status == kSuccess ? "SUCCESS" : status == kCompilation ? "ERROR_COMPILATION" : "ERROR_INVALID_INPUT";
}
FAKE int nvrtcCreateProgram(void** program, const char* text, const char*, int, const char* const*, const char* const*) {
  *program = new Program{text, {}, {}};
  return kSuccess;
}
FAKE int nvrtcDestroyProgram(void** program) {
  delete static_cast<Program*>(*program);
  *program = nullptr;
  return kSuccess;
}
FAKE int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  const std::string prefix = "--gpu-architecture=";
  const std::vector<std::string> all(options, options + count);
  const auto found = std::ranges::find_if(all, [&](const std::string& option) { return option.starts_with(prefix); });
  return found == all.end() ? kInvalidInput : compile(*static_cast<Program*>(program), found->substr(prefix.size()), all);
}
FAKE int nvrtcGetCUBINSize(void* program, std::size_t* bytes) {
  *bytes = static_cast<Program*>(program)->image.size();
  return kSuccess;
}
FAKE int nvrtcGetCUBIN(void* program, char* code) {
  std::ranges::copy(static_cast<Program*>(program)->image, code);
  return kSuccess;
}
#ifndef FAKE_HIP
FAKE int nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(targets().size());
  return kSuccess;
}
FAKE int nvrtcGetSupportedArchs(int* all) {
  std::ranges::copy(targets(), all);
  return kSuccess;
}
FAKE int nvrtcGetPTXSize(void* program, std::size_t* bytes) { return nvrtcGetCUBINSize(program, bytes); }
FAKE int nvrtcGetPTX(void* program, char* code) { return nvrtcGetCUBIN(program, code); }
#endif
FAKE int nvrtcGetProgramLogSize(void* program, std::size_t* bytes) {
  *bytes = static_cast<Program*>(program)->log.size() + 1;
  return kSuccess;
}
FAKE int nvrtcGetProgramLog(void* program, char* log) {
  std::strcpy(log, static_cast<Program*>(program)->log.c_str());
  return kSuccess;
}
