#include "wick/cli/commands/worker_command.h"

#include <ostream>
#include <string>
#include <vector>

#include "wick/base/fail.h"
#include "wick/cli/build_info.h"
#include "wick/cli/commands/chat_session.h"
#include "wick/cli/commands/generate.h"
#include "wick/cli/commands/serving.h"
#include "wick/cli/flags/adapter_flags.h"
#include "wick/cli/flags/completion.h"
#include "wick/cli/flags/man_page.h"
#include "wick/cli/load_model.h"
#include "wick/device/selection.h"

namespace wick {
namespace {

// "run wick-worker-vulkan, which a build with -DWICK_VULKAN=ON has": the program for a backend, if this version has one.
std::string other_program(DeviceKind kind) {
  if (!BackendTable().has_in_tree(kind)) return fmt::format("this version of Wick has no {} backend", to_string(kind));
  const std::string option = cmake_option(kind);
  return fmt::format("run wick-worker-{}{}", to_string(kind), option.empty() ? "" : fmt::format(", which a build with {} has", option));
}

[[noreturn]] void refuse_backend(const Console& console, const std::string& flag, DeviceKind asked) {
  fail(ErrorCode::backend_not_linked, "{}: {} runs on {} only; {}", flag, console.name, to_string(linked_backends().front()->kind),
       other_program(asked));
}

// The device that the flags name, if any does.
struct WorkerDevice {
  DeviceLocation location;
  bool is_explicit = false;

  void choose(int index) {
    location.index = index;
    is_explicit = true;
  }
};

// "--device cuda:1", "--device 1": a device of this worker's backend.
void take_device(const Console& console, const std::string& text, WorkerDevice& device) {
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) {
    return device.choose(static_cast<int>(parse_integer("--device", text, 0, kMaxOrdinal)));
  }
  const DeviceLocation asked = Device::parse_location(text);
  if (asked.kind != device.location.kind) refuse_backend(console, "--device " + text, asked.kind);
  device.choose(asked.index);
}

void take_backend(const Console& console, const std::string& text, DeviceKind own) {
  const DeviceLocation asked = Device::parse_location(text);
  if (asked.kind != own) refuse_backend(console, "--backend " + text, asked.kind);
}

// --cuda-device N and its like. A supervisor may give one to a worker of another kind, which then says what it runs on.
void add_ordinal_flag(Flags& flags, const Console& console, WorkerDevice& device, DeviceKind kind) {
  const std::string flag = fmt::format("--{}-device", to_string(kind));
  auto added = flags.add_value(flag, "N", fmt::format("the same as --device {}:N", to_string(kind)),
                               [&console, &device, flag, kind](const std::string& text) {
                                 if (kind != device.location.kind) refuse_backend(console, fmt::format("{} {}", flag, text), kind);
                                 device.choose(static_cast<int>(parse_integer(flag, text, 0, kMaxOrdinal)));
                               });
  if (kind != device.location.kind || kind == DeviceKind::cpu) added.hidden();
}

void add_device_flags(Flags& flags, const Console& console, WorkerDevice& device) {
  const std::string_view own = to_string(device.location.kind);
  flags
      .add_value("--device", "DEVICE", fmt::format("{0}, or {0}:N for the N-th one ({0})", own),
                 [&console, &device](const std::string& text) { take_device(console, text, device); })
      .choices({std::string(own)});
  flags
      .add_value("--backend", "NAME", fmt::format("must be {}: a worker holds one backend", own),
                 [&console, &device](const std::string& text) { take_backend(console, text, device.location.kind); })
      .hidden();
  for (const std::string_view kind : kUserDeviceKindNames) add_ordinal_flag(flags, console, device, *parse_device_kind(kind));
  if (!is_for_users(device.location.kind)) add_ordinal_flag(flags, console, device, device.location.kind);
  for (const char* name : {"--gpu-layers,--n-gpu-layers,--ngl", "--cpu-moe,--cmoe", "--n-cpu-moe,--ncmoe"}) {
    const std::string flag = std::string(name).substr(0, std::string_view(name).find(','));
    flags
        .add_value(name, "", "",
                   [&console, flag](const std::string&) {
                     fail(ErrorCode::invalid_argument,
                          "{}: {} holds one backend, which computes all of a model; run `wick run` or `wick serve`, which hold the CPU too",
                          flag, console.name);
                   })
        .value_optional()
        .hidden();
  }
  flags
      .add_value("--fallback-ops", "", "",
                 [&console, own](const std::string& text) {
                   fail(
                       ErrorCode::invalid_argument,
                       "--fallback-ops {0}: {1} holds one backend; run `wick run --device {2} --fallback-ops {0}`, which holds the CPU too",
                       text, console.name, own);
                 })
      .hidden();
}

// A worker answers one prompt or serves: the flags of what it does not do are not passed over without a word.
void warn_of_unused_flags(const Console& console, const Flags& flags, bool is_serving, bool is_chat) {
  if (is_serving) {
    std::vector<std::string> unused = flags.typed({"Chat", "Constrained output"});
    for (const std::string& name : flags.typed({"Flags"})) {
      const bool is_of_one_prompt =
          name == "--prompt" || name == "--file" || name == "--json" || name == "--logprobs" || name == "--receipt";
      if (is_of_one_prompt) unused.push_back(name);
    }
    for (const std::string& name : unused) console.warn(fmt::format("{} does nothing while serving", name));
    return;
  }
  for (const std::string& name : flags.typed({"Serving", "Fleet"})) {
    if (!is_chat || name != "--chat-template") console.warn(fmt::format("{} does nothing without --port: it is for serving", name));
  }
}

}  // namespace

int run_worker(Console& console, const Arguments& arguments) {
  return run_guarded(console, [&] {
    WICK_ASSERT(linked_backends().size() == 1);
    WorkerDevice device{.location = {.kind = linked_backends().front()->kind, .index = 0}};
    bool strict = false;
    GenerateOptions options;
    bool wants_build_info = false;
    bool wants_man_page = false;
    std::optional<Shell> completion;
    Flags flags(fmt::format("Continues a text with a language model on the {} backend. The continuation alone goes to standard output; "
                            "notes go to standard error.",
                            to_string(device.location.kind)),
                console);
    add_generate_flags(flags, options, console);
    add_adapters_of_worker(flags, options.adapters);
    add_device_flags(flags, console, device);
    flags.add_switch("--strict", "take no fake devices (WICK_FAKE_PROBE); a worker never uses another device", strict);
    ChatFlags chat_flags;
    chat_flags.add_to(flags);
    ServingOptions serving;
    add_serving_flags(flags, serving);
    add_fleet_flags(flags, serving);
    flags.add_switch("--build-info", "print as JSON what this program was built from and with", wants_build_info)
        .group("General")
        .command_line_only();
    flags
        .add_value("--completion", "SHELL", "print a script that completes flags in bash, zsh or fish",
                   [&](const std::string& text) { completion = parse_shell("--completion", text); })
        .choices({kShellNames.begin(), kShellNames.end()})
        .group("General")
        .command_line_only();
    flags.add_switch("--man", "print the man page", wants_man_page).group("General").command_line_only();
    flags.examples({fmt::format("{} --prompt \"Once upon a time\" --max-tokens 200", console.name),
                    fmt::format("echo '\"My dear,\"' | {} --temperature 0", console.name),
                    fmt::format(R"({} --model FILE.gguf --prompt "Dear Sir," --seed 7 --stop "Yours")", console.name),
                    fmt::format("{} --model FILE.gguf --port 8080", console.name)});
    if (!flags.parse(arguments)) return;
    if (wants_build_info) {
      console.out << build_info_json() << '\n';
      return;
    }
    if (completion || wants_man_page) {
      CommandRecord record = flags.record();
      record.summary = fmt::format("continue a text with a language model on {}", to_string(device.location.kind));
      console.out << (completion ? completion_script(*completion, record) : man_page(record, {}));
      return;
    }
    seed_process(console);
    warn_of_unused_flags(console, flags, serving.is_asked_for(), chat_flags.wanted());
    check_fakes(console, strict, device.is_explicit);
    options.requested_device = device.location.to_string();
    const auto open_device = [&] {
      return Device::open_requested(device.location, {.threads = options.threads, .cache_directory = console.cache_directory},
                                    FakeProbe::parse(console.fake_probe));
    };
    if (serving.is_asked_for()) {
      serving.adapters = options.adapters;
      serve_model(console, serving,
                  {.model = options.model,
                   .context = options.context,
                   .precision = options.precision,
                   .draft = options.draft,
                   .mlock = options.mlock,
                   .device_name = options.requested_device,
                   .defaults = {.params = options.params,
                                .max_tokens = options.limits_tokens ? std::optional(options.params.max_tokens) : std::nullopt},
                   .sampling = options.sampling,
                   .open_device = open_device});
    } else if (chat_flags.wanted()) {
      chat_once(console, options, chat_flags, serving.chat_template, open_device);
    } else {
      generate(console, options, open_device);
    }
  });
}

}  // namespace wick
