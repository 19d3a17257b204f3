// A Console is what a command line tool needs of the world: its name, its streams, and how it ends.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

// How programs end; --help says the same.
inline constexpr int kExitSuccess = 0;
inline constexpr int kExitInternal = 1;   // a fault of Wick itself, or a device that failed while it worked
inline constexpr int kExitUserError = 2;  // a bad flag, a bad file, something the machine has not

struct Console {
  std::string name;                  // "wick-worker-cpu", "wick bench": stands before every message
  std::filesystem::path executable;  // empty if not known
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool input_is_terminal = false;
  bool output_is_terminal = false;
  bool errors_are_terminal = false;
  bool quiet = false;                // notes are left out
  std::string cache_directory = {};  // where programs for accelerators are kept between runs; empty: nowhere
  std::string fake_probe = {};       // for tests: WICK_FAKE_PROBE (FakeProbe::parse)
  std::string fake_holes = {};       // for tests: WICK_FAKE_HOLES (FakeHoles::parse)

  // One line on err, unless quiet.
  void note(std::string_view message) const;
  // The same for what went wrong, quiet or not.
  void error(std::string_view message) const;
};

// That of this process: its executable and its standard streams.
[[nodiscard]] Console standard_console(std::string name);

using Arguments = std::vector<std::string>;

// Runs a program's body, flushes its output, and turns whatever is thrown into one line on err and an exit code. The library's log
// goes to err meanwhile.
[[nodiscard]] int run_guarded(Console& console, const std::function<void()>& body);

// Printed by --help below the flags of every program.
inline constexpr std::string_view kExitCodeHelp =
    "Exit codes: 0 success; 1 a fault of the program itself, or of the device while it worked; 2 a bad flag, a bad file or something "
    "missing.";

}  // namespace wick
