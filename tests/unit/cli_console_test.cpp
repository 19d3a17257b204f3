// How programs end, and which model they open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "unit/temporary_folder.h"
#include "wick/base/fail_with.h"
#include "wick/base/log.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/console.h"
#include "wick/cli/flags/flag_sources.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/flags/wrap.h"
#include "wick/cli/hub/model_path.h"
#include "wick/server/setting_flags.h"

namespace wick {
namespace {

struct Printed {
  int code;
  std::string out;
  std::string err;
};

Printed run(const std::function<int(Console&)>& body, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  Console console{.name = "wick", .executable = {}, .in = in, .out = out, .err = err};
  const int code = body(console);
  return {code, out.str(), err.str()};
}

TEST(Console, AnErrorIsOneLineAndExitCode2) {
  const Printed ended =
      run([](Console& console) { return run_guarded(console, [] { fail(ErrorCode::not_found, "a\nb: no such file"); }); });
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err, "wick: error: a\\nb: no such file\n");
  EXPECT_EQ(ended.out, "");
}

TEST(Console, LinesOfSeveralThreadsStayWhole) {
  constexpr int kThreads = 4, kLines = 500;
  const Printed ended = run([](Console& console) {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&console, text = std::string(100, static_cast<char>('a' + thread))] {
        for (int line = 0; line < kLines; ++line) line % 2 == 0 ? console.note(text) : console.warn(text);
      });
    }
    threads.clear();
    return 0;
  });
  std::istringstream lines(ended.err);
  int whole = 0;
  for (std::string line; std::getline(lines, line); ++whole) {
    const std::string text(100, line.empty() ? 'a' : line.back());
    EXPECT_TRUE(line == "wick: " + text || line == "wick: warning: " + text) << line;
  }
  EXPECT_EQ(whole, kThreads * kLines);
}

TEST(Console, NoMemoryIsTheMachinesFaultAndAnUnknownExceptionOurs) {
  EXPECT_EQ(run([](Console& console) { return run_guarded(console, [] { throw std::bad_alloc(); }); }).code, 2);
  EXPECT_EQ(run([](Console& console) { return run_guarded(console, [] { throw std::logic_error("x"); }); }).code, 1);
  EXPECT_EQ(run([](Console& console) { return run_guarded(console, [] {}); }).code, 0);
}

TEST(Console, RemediesNameTheFlagsThatTheCommandHas) {
  const auto err_of = [](const Arguments& arguments, const std::function<void()>& body) {
    const Printed ended = run([&](Console& console) {
      return run_guarded(console, [&] {
        int64_t context = 0;
        std::string type;
        Flags flags("A command.", console);
        if (!arguments.empty()) add_context(flags, context, "tokens", 1);
        flags.add_text("--kv-type", "TYPE", "of the cache", type).choices({"f16", "f32"});
        flags.add_text("--gpu-layers", "N", "", type).hidden();
        ASSERT_TRUE(flags.parse(arguments));
        body();
      });
    });
    EXPECT_EQ(ended.code, 2);
    return ended.err;
  };
  const auto full = [] {
    fail_with({{"take {}", Setting::kv_dtype, "q8_0"}, {"take {}", Setting::kv_dtype, "f16"}, {"try {}", Setting::context, "5"}},
              ErrorCode::out_of_memory, "--- is full");
  };
  EXPECT_EQ(err_of({"--context", "9"}, full), "wick: error: --- is full; take --kv-type f16, or try --context 5\n");
  EXPECT_EQ(err_of({}, full), "wick: error: --- is full; take --kv-type f16\n");
  const auto layers = [] { fail_with({{"lower {}", Setting::gpu_layers}}, ErrorCode::out_of_memory, "full"); };
  EXPECT_EQ(err_of({}, layers), "wick: error: full\n") << "a flag that is there to be refused";
  // What no one knew a remedy for, whatever its text looks like.
  const auto plain = [] { fail(ErrorCode::out_of_memory, "a--b: no memory"); };
  EXPECT_EQ(err_of({"--context", "9"}, plain), "wick: error: a--b: no memory; use a smaller model, or lower --context\n");
  EXPECT_EQ(err_of({}, plain), "wick: error: a--b: no memory; use a smaller model\n");
  EXPECT_EQ(err_of({}, [] { throw std::bad_alloc(); }), "wick: error: no memory: the machine refused an allocation; use a smaller model\n");
}

std::vector<std::string> flags_of_command(const std::string& name) {
  std::vector<std::string> names;
  run([&](Console& console) {
    for (const CommandRecord& command : describe_wick(console).subcommands) {
      if (command.name != name) continue;
      for (const FlagRecord& flag : command.flags) names.push_back(flag.name);
    }
    return 0;
  });
  return names;
}

TEST(WickCommand, RunOrQuantizeHasAFlagForEachSettingThatTheLibraryNames) {
  std::vector<std::string> names = flags_of_command("wick run");
  const std::vector<std::string> of_quantize = flags_of_command("wick quantize");
  names.insert(names.end(), of_quantize.begin(), of_quantize.end());
  for (int index = 1; index <= static_cast<int>(kLastSetting); ++index) {
    const auto setting = static_cast<Setting>(index);
    EXPECT_NE(std::find(names.begin(), names.end(), flag_of(setting)), names.end()) << to_string(setting);
  }
  EXPECT_EQ(flag_of(Setting::none), "");
}

TEST(Console, TheLibrarysWarningsGoToErrorsWhileItRuns) {
  const Printed ended = run([](Console& console) { return run_guarded(console, [] { log_warning("mind {}", "this"); }); });
  EXPECT_EQ(ended.err, "wick: warning: mind this\n");
}

TEST(Console, QuietLeavesNotesOutButNotErrors) {
  const Printed ended = run([](Console& console) {
    console.quiet = true;
    return run_guarded(console, [&] {
      console.note("loaded");
      fail(ErrorCode::io, "broken");
    });
  });
  EXPECT_EQ(ended.err, "wick: error: broken\n");
}

TEST(WickCommand, HelpNamesEverySubcommandAndAnUnknownOneIsRefused) {
  const Printed help = run([](Console& console) { return run_wick(console, {"--help"}); });
  EXPECT_EQ(help.code, 0);
  for (const char* name : {"run", "inspect", "tokenize", "detokenize", "logits", "perplexity", "bench", "synth", "devices", "coverage"}) {
    EXPECT_NE(help.out.find(std::string("\n  ") + name + " "), std::string::npos) << name;
  }
  const Printed alone = run([](Console& console) { return run_wick(console, {}); });
  EXPECT_EQ(alone.code, 2);
  EXPECT_EQ(alone.out, help.out);
  EXPECT_EQ(run([](Console& console) { return run_wick(console, {"help"}); }).out, help.out);
  const Printed unknown = run([](Console& console) { return run_wick(console, {"rum"}); });
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("'rum' (did you mean run?)"), std::string::npos) << unknown.err;
}

TEST(WickCommand, HelpOfASubcommandIsTheSameInBothSpellings) {
  const Printed one = run([](Console& console) { return run_wick(console, {"help", "run"}); });
  EXPECT_EQ(one.code, 0);
  EXPECT_EQ(one.out, run([](Console& console) { return run_wick(console, {"run", "--help"}); }).out);
  EXPECT_EQ(run([](Console& console) { return run_wick(console, {"help", "rum"}); }).code, 2);
}

// Calls visit for wick and for each of its subcommands, at any depth.
void for_each_command(Console& console, const std::function<void(const CommandRecord& command)>& visit) {
  std::vector<CommandRecord> open = {describe_wick(console)};
  while (!open.empty()) {
    const CommandRecord command = open.back();
    open.pop_back();
    open.insert(open.end(), command.subcommands.begin(), command.subcommands.end());
    visit(command);
  }
}

TEST(WickCommand, EachSubcommandHasItsSectionInAConfigurationFile) {
  std::vector<std::string> sections;
  run([&](Console& console) {
    for_each_command(console, [&](const CommandRecord& command) {
      if (command.subcommands.empty()) sections.push_back(section_of(command.name));
    });
    return 0;
  });
  EXPECT_THAT(sections, testing::UnorderedElementsAreArray(kConfigurationSections));
}

TEST(WickCommand, NamesInOtherSectionsOfAConfigurationFileAreCheckedToo) {
  const TemporaryFolder folder;
  const std::string file = (folder / "wick.toml").string();
  const auto printed = [&](const std::string& text) {
    std::ofstream(file) << text;
    return run([&](Console& console) { return run_wick(console, {"devices", "--config", file}); });
  };
  EXPECT_EQ(printed("[serve]\nport = 1\n[gguf.set]\nremove = \"a.b\"\n[chat]\nsystem = \"a\"\n").code, 0);
  EXPECT_EQ(printed("[serve]\nprot = 1\n").err,
            "wick devices: error: " + file + ": [serve]: 'prot' is no flag of wick serve (did you mean --port?)\n");
  EXPECT_THAT(printed("[devices.x]\nport = 1\n").err, testing::HasSubstr("section [devices.x] is no subcommand"));
}

// One name for one thing: what two commands share has one meaning, and every line of a help text fits.
TEST(WickCommand, FlagsMeanTheSameInEveryCommandAndHelpFits) {
  std::map<std::string, std::string> owner;  // of each name and letter: the flag's main name
  run([&](Console& console) {
    for_each_command(console, [&](const CommandRecord& command) {
      EXPECT_FALSE(command.summary.empty() || command.examples.empty()) << command.name;
      for (const FlagRecord& record : command.flags) {
        EXPECT_FALSE(record.description.empty() && !record.hidden) << command.name << " " << record.name;
        if (record.positional || record.hidden) continue;
        for (const std::string& name : record.names()) {
          // Of wick bench, as in llama-bench, a format and its lengths.
          if (name == "--output" || name.size() == 2) continue;
          EXPECT_EQ(owner.emplace(name, record.name).first->second, record.name) << command.name << " " << name;
        }
      }
      std::istringstream help(help_text(command));
      for (std::string line; std::getline(help, line);) EXPECT_LE(columns_of(line), kHelpWidth) << command.name << ": " << line;
    });
    return 0;
  });
  EXPECT_GT(owner.size(), 40U);
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
    const Printed ended =
        run([&](Console& console) { return run_guarded(console, [&] { found = resolve_model(console, folder.path().string()); }); });
    error = ended.err;
    return found;
  };
  std::string error;
  EXPECT_EQ(resolve(error), std::filesystem::path());
  EXPECT_NE(error.find("neither a .gguf file nor a config.json"), std::string::npos) << error;
  write_bytes(folder / "m-00001-of-00002.gguf", {});
  write_bytes(folder / "m-00002-of-00002.gguf", {});
  EXPECT_EQ(resolve(error), folder / "m-00001-of-00002.gguf");
  write_bytes(folder / "other.gguf", {});
  EXPECT_EQ(resolve(error), std::filesystem::path());
  EXPECT_NE(error.find("2 .gguf files"), std::string::npos) << error;
}

TEST(Console, NothingInAMessageMovesTheTerminalAndItsLengthIsBounded) {
  const std::string evil =
      "\x1b]0;owned\x07\xc2\x9b"
      "31m\xff\x7f\xe2\x80\xae";
  const Printed ended = run([&](Console& console) {
    return run_guarded(console, [&] {
      console.note(evil);
      log_warning("{}", evil);
      fail(ErrorCode::io, "{}{}", evil, std::string(100'000, 'x'));
    });
  });
  for (const char* part : {"\x1b", "\x07", "\xc2\x9b", "\xff", "\x7f", "\xe2\x80\xae"}) {
    EXPECT_EQ(ended.err.find(part), std::string::npos) << ended.err.substr(0, 300);
  }
  EXPECT_NE(ended.err.find("\\x1b]0;owned\\x07\\xc2\\x9b31m\\xff\\x7f\\xe2\\x80\\xae"), std::string::npos) << ended.err.substr(0, 300);
  EXPECT_LT(ended.err.size(), 6000U);
  EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 3);
}

}  // namespace
}  // namespace wick
