// A Console is what a command line tool needs of the world: its name, its streams, and how it ends.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/remedy.h"

namespace [[gnu::visibility("default")]] wick {
class Device;
}

namespace wick {

struct CommandRecord;
struct SectionFlags;

// How programs end; --help says the same.
inline constexpr int kExitSuccess = 0;
inline constexpr int kExitInternal = 1;       // a fault of Wick itself
inline constexpr int kExitUserError = 2;      // a bad flag, a bad file, a device that is absent, lacks something or fails
inline constexpr int kExitInterrupted = 130;  // Ctrl-C, as shells count it

struct Console {
  std::string name;                  // "wick-worker-cpu", "wick bench": precedes every message
  std::filesystem::path executable;  // empty if not known
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool input_is_terminal = false;
  bool output_is_terminal = false;
  bool errors_are_terminal = false;
  bool plain_terminal = false;                                // one that knows no escape sequences (TERM=dumb)
  bool quiet = false;                                         // notes are left out
  bool verbose = false;                                       // details are printed
  int exit_code = kExitSuccess;                               // of a program that ends without an error
  std::string cache_directory = {};                           // where programs for accelerators are kept between runs; empty: nowhere
  std::string fake_probe = {};                                // for tests: WICK_FAKE_PROBE (FakeProbe::parse)
  std::function<Device(const Device&)> decorate_device = {};  // for tests: what a command uses in place of the device that it opened
  std::map<std::string, std::string> environment = {};        // the variables WICK_…
  std::function<std::vector<SectionFlags>()> sections = {};   // of the subcommands, for configuration files; empty: there are none
  std::function<void(const CommandRecord&)> on_record = {};   // gets what is known of a command instead of running it
  SettingSpelling spelling = {};                              // the command's flags for settings; none before it has parsed its flags

  // One line on err, unless quiet.
  void note(std::string_view message) const;
  // The same, if verbose.
  void detail(std::string_view message) const;
  // One line on err, always.
  void warn(std::string_view message) const;
  void error(std::string_view message) const;
  // An error's message, in which its remedies name the command's flags.
  [[nodiscard]] std::string message_of(const Error& error) const { return wick::message_of(error, spelling); }
};

// That of this process: its executable and its standard streams.
[[nodiscard]] Console standard_console(std::string name);

using Arguments = std::vector<std::string>;

// Runs a program's body, flushes its output, and turns whatever is thrown into one line on err and an exit code. The library's log
// goes to err meanwhile.
[[nodiscard]] int run_guarded(Console& console, const std::function<void()>& body);

struct ExitCode {
  int code;
  std::string_view meaning;
};
inline constexpr ExitCode kExitCodes[] = {{kExitSuccess, "success"},
                                          {kExitInternal, "internal error"},
                                          {kExitUserError, "usage error, a file that is missing or invalid, or a device that fails"},
                                          {kExitInterrupted, "interrupted"}};
// "0 success; 1 …": what --help says of them.
[[nodiscard]] std::string exit_code_help();

}  // namespace wick
