#include "wick/cli/worker_command.h"

#include <charconv>
#include <ostream>
#include <string>

#include "wick/base/fail.h"
#include "wick/cli/build_info.h"
#include "wick/cli/generate.h"
#include "wick/device/registry.h"

namespace wick {
namespace {

[[noreturn]] void refuse_backend(const Console& console, const std::string& flag, std::string_view asked, DeviceKind own) {
  fail(ErrorCode::backend_not_linked, "{}: {} runs on {} only; the program for {} is wick-worker-{}", flag, console.name, to_string(own),
       asked, asked);
}

// "--device cuda:1", "--device 1": a device of this worker's backend.
void take_device(const Console& console, const std::string& text, DeviceLocation& location) {
  int index = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error == std::errc() && stop == text.data() + text.size() && index >= 0) {
    location.index = index;
    return;
  }
  const DeviceLocation asked = Device::parse_location(text);
  if (asked.kind != location.kind) refuse_backend(console, "--device " + text, to_string(asked.kind), location.kind);
  location = asked;
}

void take_backend(const Console& console, const std::string& text, DeviceKind own) {
  const DeviceLocation asked = Device::parse_location(text);
  if (asked.kind != own) refuse_backend(console, "--backend " + text, to_string(asked.kind), own);
}

// --cuda-device N and its like: the hive writes them for every kind of worker.
void add_device_flags(Flags& flags, const Console& console, DeviceLocation& location) {
  const std::string_view own = to_string(location.kind);
  flags.add_value("--device", "DEVICE", fmt::format("{0}, or {0}:N for the N-th one ({0})", own),
                  [&console, &location](const std::string& text) { take_device(console, text, location); });
  flags
      .add_value("--backend", "NAME", fmt::format("must be {}: a worker holds one backend", own),
                 [&console, &location](const std::string& text) { take_backend(console, text, location.kind); })
      .hidden();
  for (const std::string_view kind : kDeviceKindNames) {
    const std::string flag = fmt::format("--{}-device", kind);
    flags
        .add_value(flag, "N", "",
                   [&console, &location, flag, kind](const std::string& text) {
                     if (kind != to_string(location.kind)) refuse_backend(console, flag, kind, location.kind);
                     location.index = static_cast<int>(parse_integer(flag, text, 0, 1024));
                   })
        .hidden();
  }
}

// The hive's flags for a worker that serves.
void add_serving_flags(Flags& flags) {
  for (const char* flag : {"--worker-id", "--model-ref", "--port", "--hive-url", "--queen-url", "--callback-url", "--local-mode"}) {
    const auto refuse = [flag](const std::string&) {
      fail(ErrorCode::unsupported, "{}: serving over HTTP is not in this version; give --prompt TEXT or write the prompt to standard input",
           flag);
    };
    flags.add_value(flag, "", "", refuse).value_optional().hidden();
  }
}

}  // namespace

int run_worker(Console& console, const Arguments& arguments) {
  return run_guarded(console, [&] {
    WICK_ASSERT(linked_backends().size() == 1);
    DeviceLocation location{.kind = linked_backends().front()->kind, .index = 0};
    GenerateOptions options;
    bool wants_build_info = false;
    Flags flags(fmt::format("Continues a text with a language model on the {} backend. The continuation alone goes to standard output;\n"
                            "notes go to standard error.",
                            to_string(location.kind)),
                console);
    add_generate_flags(flags, options, console);
    add_device_flags(flags, console, location);
    add_serving_flags(flags);
    flags.add_switch("--build-info", "print as JSON what this program was built from and with", wants_build_info);
    flags.footer(examples({fmt::format("{} --prompt \"Once upon a time\" --max-tokens 200", console.name),
                           fmt::format("echo '\"My dear,\"' | {} --temperature 0", console.name),
                           fmt::format(R"({} --model FILE.gguf --prompt "Dear Sir," --seed 7 --stop "Yours")", console.name)}));
    if (!flags.parse(arguments)) return;
    if (wants_build_info) {
      console.out << build_info_json() << '\n';
      return;
    }
    generate(console, options, Device::open(location, {.threads = options.threads, .cache_directory = console.cache_directory}));
  });
}

}  // namespace wick
