// A fake libocloc: it checks its arguments and wraps the source in a module for the fake loader. It refuses a source with "#error", and
// any where FAKE_OCLOC is "refuse=1".
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "fault_setting.h"
#include "oneapi/fake_module.h"

namespace {

template <class T>
T* allocate(size_t count) {
  return static_cast<T*>(std::calloc(std::max<size_t>(count, 1), sizeof(T)));
}

struct File {
  std::string name, bytes;
};

void give(const std::vector<File>& files, uint32_t* count, uint8_t*** data, uint64_t** sizes, char*** names) {
  *count = static_cast<uint32_t>(files.size());
  *data = allocate<uint8_t*>(files.size());
  *sizes = allocate<uint64_t>(files.size());
  *names = allocate<char*>(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    (*data)[i] = allocate<uint8_t>(files[i].bytes.size());
    std::memcpy((*data)[i], files[i].bytes.data(), files[i].bytes.size());
    (*sizes)[i] = files[i].bytes.size();
    (*names)[i] = allocate<char>(files[i].name.size() + 1);
    std::memcpy((*names)[i], files[i].name.c_str(), files[i].name.size() + 1);
  }
}

// What is wrong with the command; empty: nothing.
std::string wrong_with(const std::vector<std::string_view>& words) {
  const auto value = [&](std::string_view option) {
    const auto found = std::find(words.begin(), words.end(), option);
    return found == words.end() || found + 1 == words.end() ? std::string_view() : found[1];
  };
  if (words.size() < 2 || words[1] != "compile") return "Invalid option: no command 'compile'";
  if (value("-file") != "kernel.cl") return "Input file missing";
  if (value("-device") != "0x56a0") return "Could not determine device target";
  if (!value("-options").starts_with("-cl-std=CL")) return "no language version";
  if (std::find(words.begin(), words.end(), "-spv_only") == words.end()) return "native code is not asked for";
  return {};
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int oclocInvoke(unsigned argument_count, const char** arguments, uint32_t source_count,
                                                          const uint8_t** sources, const uint64_t* source_sizes,
                                                          const char** /*source_names*/, uint32_t, const uint8_t**, const uint64_t*,
                                                          const char**, uint32_t* count, uint8_t*** data, uint64_t** sizes, char*** names) {
  std::string error = wrong_with({arguments, arguments + argument_count});
  if (source_count != 1) error = "one source is expected";
  const std::string text = error.empty() ? std::string(reinterpret_cast<const char*>(sources[0])) : "";
  if (error.empty() && text.size() + 1 != source_sizes[0]) error = "the source does not end with its zero";
  if (text.find("#error") != std::string::npos) error = "1:1:2: error: as the text says";
  if (wick::fault_setting("FAKE_OCLOC", "refuse", 0) == 1) error = "1:1:2: error: told to refuse";
  std::vector<File> files{{"stdout.log", error.empty() ? "Build succeeded.\n" : error + "\nBuild failed with error code: -11\n"}};
  if (error.empty()) files.insert(files.begin(), {"kernel_FAKE.spv", fake_module(text)});
  give(files, count, data, sizes, names);
  return error.empty() ? 0 : -11;
}

extern "C" [[gnu::visibility("default")]] int oclocFreeOutput(uint32_t* count, uint8_t*** data, uint64_t** sizes, char*** names) {
  for (uint32_t i = 0; i < *count; ++i) {
    std::free((*data)[i]);
    std::free((*names)[i]);
  }
  std::free(*data);
  std::free(*sizes);
  std::free(*names);
  return 0;
}
