// How programs end, and which model they open.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "cli/model_path.h"
#include "cli/program.h"
#include "cli/wick_command.h"
#include "unit/temporary_folder.h"

namespace wick {
namespace {

struct Ended {
  int code;
  std::string out;
  std::string err;
};

Ended run(const std::function<int(Program&)>& body, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  Program program{.name = "wick", .executable = {}, .in = in, .out = out, .err = err};
  const int code = body(program);
  return {code, out.str(), err.str()};
}

TEST(Program, AnErrorIsOneLineAndExitCode2) {
  const Ended ended = run([](Program& program) { return run_guarded(program, [] { fail(ErrorCode::not_found, "a\nb: no such file"); }); });
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err, "wick: error: a b: no such file\n");
  EXPECT_EQ(ended.out, "");
}

TEST(Program, NoMemoryIsTheMachinesFaultAndAnUnknownExceptionOurs) {
  EXPECT_EQ(run([](Program& program) { return run_guarded(program, [] { throw std::bad_alloc(); }); }).code, 2);
  EXPECT_EQ(run([](Program& program) { return run_guarded(program, [] { throw std::logic_error("x"); }); }).code, 1);
  EXPECT_EQ(run([](Program& program) { return run_guarded(program, [] {}); }).code, 0);
}

TEST(Program, TheLibrarysWarningsGoToErrorsWhileItRuns) {
  const Ended ended = run([](Program& program) { return run_guarded(program, [] { log_warning("mind {}", "this"); }); });
  EXPECT_EQ(ended.err, "wick: warning: mind this\n");
}

TEST(Program, QuietLeavesNotesOutButNotErrors) {
  const Ended ended = run([](Program& program) {
    program.quiet = true;
    return run_guarded(program, [&] {
      program.note("loaded");
      fail(ErrorCode::io, "broken");
    });
  });
  EXPECT_EQ(ended.err, "wick: error: broken\n");
}

TEST(WickCommand, HelpNamesEverySubcommandAndAnUnknownOneIsRefused) {
  const Ended help = run([](Program& program) { return run_wick(program, {"--help"}); });
  EXPECT_EQ(help.code, 0);
  for (const char* name : {"run", "inspect", "tokenize", "detokenize", "logits", "perplexity", "bench", "synth", "devices", "coverage"}) {
    EXPECT_NE(help.out.find(std::string("\n  ") + name + " "), std::string::npos) << name;
  }
  const Ended unknown = run([](Program& program) { return run_wick(program, {"rum"}); });
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("'rum'"), std::string::npos) << unknown.err;
}

TEST(ModelPath, TheDefaultModelLiesInstalledBesideTheProgramOrInATreeAboveIt) {
  const TemporaryFolder folder;
  const auto touch = [](const std::filesystem::path& path) {
    std::filesystem::create_directories(path.parent_path());
    write_bytes(path, {});
    return path;
  };
  const auto program = folder / "usr/bin/wick";
  EXPECT_EQ(find_default_model(program), std::filesystem::path());
  const auto above = touch(folder / "models/novelist-20m-q8_0.gguf");
  EXPECT_EQ(find_default_model(program), above);
  const auto installed = touch(folder / "usr/share/wick/models/novelist-20m-q8_0.gguf");
  EXPECT_EQ(find_default_model(program), installed);
}

TEST(ModelPath, AFolderMeansItsOnlyModelAndTheFirstPartOfASplitOne) {
  const TemporaryFolder folder;
  const auto resolve = [&](std::string& error) {
    std::filesystem::path found;
    const Ended ended =
        run([&](Program& program) { return run_guarded(program, [&] { found = resolve_model(program, folder.path().string()); }); });
    error = ended.err;
    return found;
  };
  std::string error;
  EXPECT_EQ(resolve(error), std::filesystem::path());
  EXPECT_NE(error.find("without a .gguf file"), std::string::npos) << error;
  write_bytes(folder / "m-00001-of-00002.gguf", {});
  write_bytes(folder / "m-00002-of-00002.gguf", {});
  EXPECT_EQ(resolve(error), folder / "m-00001-of-00002.gguf");
  write_bytes(folder / "other.gguf", {});
  EXPECT_EQ(resolve(error), std::filesystem::path());
  EXPECT_NE(error.find("2 .gguf files"), std::string::npos) << error;
}

}  // namespace
}  // namespace wick
