// wick gguf: changes, takes apart and shows GGUF files without looking at what they compute.

#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <ostream>
#include <sstream>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/suggest.h"
#include "wick/cli/commands/gguf_edit.h"
#include "wick/cli/commands/subcommands.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/sha256.h"
#include "wick/cli/output_file.h"
#include "wick/cli/text_format.h"
#include "wick/cli/text_input.h"
#include "wick/formats/gguf_type.h"
#include "wick/formats/printable.h"
#include "wick/quant/unpack_row.h"

namespace wick {
namespace {

void set_command(Console& console, const Arguments& arguments) {
  std::string in;
  std::string out;
  std::vector<std::string> changes;
  std::vector<std::string> removed;
  Flags flags("Writes a GGUF file with changed metadata. Tensors are copied unchanged.", console);
  flags.add_argument("IN", "the file", in).required().path();
  flags.add_argument("OUT", "the file to write", out).required().path();
  flags.add_arguments(
      "CHANGE", "KEY=VALUE, or KEY=TYPE:VALUE with u8 to u64, i8 to i64, f32, f64, bool or str; without TYPE a key keeps its own", changes);
  flags.add_values("--remove", "KEY", "remove a key; repeatable", removed);
  add_verbosity(flags, console);
  flags.examples({"wick gguf set in.gguf out.gguf general.name='My model'", "wick gguf set in.gguf out.gguf llama.context_length=u32:8192",
                  "wick gguf set in.gguf out.gguf --remove tokenizer.chat_template"});
  if (!flags.parse(arguments)) return;
  if (changes.empty() && removed.empty()) fail(ErrorCode::invalid_argument, "nothing to change: give KEY=VALUE or --remove KEY");
  std::vector<MetadataChange> parsed;
  for (const std::string& change : changes) parsed.push_back(parse_metadata_change(change));
  const GgufFile source = GgufFile::open(in);
  refuse_to_overwrite(source, out);
  write_with_metadata(source, out, parsed, {removed.begin(), removed.end()});
  console.note(fmt::format("wrote {}: {} set, {} removed", out, format_counted(std::ssize(parsed), "value"), removed.size()));
}

// "300M" and the like, in bytes.
uint64_t parse_size(std::string_view flag, std::string text) {
  uint64_t unit = 1;
  if (!text.empty()) {
    switch (text.back()) {
      case 'K': unit = uint64_t{1} << 10; break;
      case 'M': unit = uint64_t{1} << 20; break;
      case 'G': unit = uint64_t{1} << 30; break;
      default: break;
    }
  }
  if (unit > 1) text.pop_back();
  return unit * static_cast<uint64_t>(parse_integer(flag, text, 1, int64_t{1} << 32));
}

void split_command(Console& console, const Arguments& arguments) {
  std::string in;
  std::string prefix;
  SplitLimits limits;
  Flags flags("Splits a GGUF file into parts PREFIX-00001-of-0000N.gguf; programs read them by the name of the first.", console);
  flags.add_argument("IN", "the file", in).required().path();
  flags.add_argument("PREFIX", "prefix of the parts' names", prefix).required().path();
  const Flags::Added tensors =
      flags.add_integer("--max-tensors,--split-max-tensors", "maximum number of tensors per part (128)", limits.tensors, 1);
  flags
      .add_value("--max-size,--split-max-size", "SIZE", "maximum bytes of tensors per part: 500M, 2G",
                 [&](const std::string& text) { limits.bytes = parse_size("--max-size", text); })
      .excludes(tensors);
  add_verbosity(flags, console);
  flags.examples({"wick gguf split model.gguf model --max-size 2G", "wick gguf split model.gguf parts/model --max-tensors 64"});
  if (!flags.parse(arguments)) return;
  if (limits.tensors == 0 && limits.bytes == 0) limits.tensors = 128;
  const auto paths = write_parts(GgufFile::open(in), prefix, limits);
  console.note(fmt::format("wrote {}, {} to {}", format_counted(std::ssize(paths), "part"), paths.front().string(), paths.back().string()));
}

void merge_command(Console& console, const Arguments& arguments) {
  std::string in;
  std::string out;
  Flags flags("Merges the parts of a split GGUF file.", console);
  flags.add_argument("FIRST", "the first part, whose name ends in -00001-of-0000N.gguf", in).required().path();
  flags.add_argument("OUT", "the file to write", out).required().path();
  add_verbosity(flags, console);
  flags.examples({"wick gguf merge model-00001-of-00003.gguf model.gguf"});
  if (!flags.parse(arguments)) return;
  const GgufFile source = GgufFile::open(in);
  refuse_to_overwrite(source, out);
  write_with_metadata(source, out, {}, {});
  console.note(fmt::format("wrote {}: {}, {}", out, format_counted(std::ssize(source.tensors()), "tensor"),
                           format_bytes(GgufFile::open(out).file_bytes())));
}

struct NamedHash {
  std::string name;  // of a tensor; empty: all of them
  std::string digits;
};

std::vector<NamedHash> hashes_of(const GgufFile& file) {
  std::vector<NamedHash> hashes;
  Sha256 all;
  for (const GgufTensor& tensor : file.tensors()) {
    hashes.push_back({std::string(tensor.name), sha256_of(tensor.data)});
    all.add(tensor.data);
  }
  hashes.push_back({"", all.finish()});
  return hashes;
}

// Lines "sha256  DIGITS  FILE:TENSOR". Errors: invalid_argument, naming the first tensor that differs.
void check_manifest(const Console& console, const std::string& manifest, const std::string& path, const std::vector<NamedHash>& hashes) {
  std::istringstream text(read_text_file(manifest));
  size_t checked = 0;
  for (std::string line; std::getline(text, line);) {
    std::istringstream fields(line);
    std::string kind;
    std::string digits;
    std::string place;
    fields >> kind >> digits;
    std::getline(fields >> std::ws, place);
    if (kind != "sha256") continue;
    const auto found = std::find_if(hashes.begin(), hashes.end(), [&](const NamedHash& hash) {
      return hash.name.empty() ? place.find(':') == std::string::npos : place.ends_with(":" + hash.name);
    });
    if (found == hashes.end()) fail(ErrorCode::invalid_argument, "{}: {} is not in {}", manifest, printable(place), path);
    if (found->digits != digits) {
      fail(ErrorCode::invalid_argument, "{}: {} has SHA-256 {}, and {} says {}", path,
           found->name.empty() ? "all tensors together" : "tensor " + printable(found->name), found->digits, manifest, printable(digits));
    }
    ++checked;
  }
  if (checked == 0) fail(ErrorCode::invalid_argument, "{}: no line begins with sha256; write one with wick gguf hash", manifest);
  console.out << fmt::format("{}: {} checksums agree with {}\n", path, checked, manifest);
}

void hash_command(Console& console, const Arguments& arguments) {
  std::string path;
  std::string manifest;
  bool json = false;
  Flags flags("Prints the SHA-256 of each tensor's bytes, and of all of them together. Metadata does not count.", console);
  flags.add_argument("FILE", "the file", path).required().path();
  flags.add_text("--check", "FILE", "compare with a file of such lines; exit code 2 if one differs", manifest);
  add_json(flags, json);
  flags.examples({"wick gguf hash model.gguf > model.manifest", "wick gguf hash model.gguf --check model.manifest"});
  if (!flags.parse(arguments)) return;
  const std::vector<NamedHash> hashes = hashes_of(GgufFile::open(path));
  if (!manifest.empty()) return check_manifest(console, manifest, path, hashes);
  if (json) {
    nlohmann::ordered_json tensors = nlohmann::ordered_json::object();
    for (const NamedHash& hash : hashes) {
      if (!hash.name.empty()) tensors[hash.name] = hash.digits;
    }
    const nlohmann::ordered_json result = {{"file", path}, {"sha256", hashes.back().digits}, {"tensors", tensors}};
    console.out << json_text(result, 2) << '\n';
    return;
  }
  const std::string file = std::filesystem::path(path).filename().string();
  for (const NamedHash& hash : hashes) {
    const std::string name = hash.name.empty() ? "" : ":" + printable(hash.name).substr(1, printable(hash.name).size() - 2);
    console.out << fmt::format("sha256  {}  {}{}\n", hash.digits, file, name);
  }
}

// Rows "2", "0:4" or ":4" of how many there are.
std::pair<int64_t, int64_t> parse_rows(const std::string& text, int64_t rows) {
  if (text.empty()) return {0, rows};
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    const int64_t row = parse_integer("--rows", text, 0, rows - 1);
    return {row, row + 1};
  }
  const int64_t begin = colon == 0 ? 0 : parse_integer("--rows", text.substr(0, colon), 0, rows);
  const int64_t end = colon + 1 == text.size() ? rows : parse_integer("--rows", text.substr(colon + 1), begin, rows);
  return {begin, end};
}

template <class Number>
void print_rows(const Console& console, const GgufTensor& tensor, int64_t begin, int64_t end) {
  const int64_t columns = tensor.shape.rank() == 0 ? 1 : tensor.shape.last();
  std::vector<Number> values(static_cast<size_t>(columns));
  for (int64_t row = begin; row < end; ++row) {
    unpack_row(tensor.dtype, tensor.data.data(), tensor.data.size(), row, values);
    console.out << fmt::format("{}\n", fmt::join(values, " "));
  }
}

void dump_tensor(const Console& console, const GgufFile& file, const std::string& name, const std::string& row_range) {
  const GgufTensor* tensor = file.find_tensor(name);
  if (tensor == nullptr) {
    std::vector<std::string> names;
    for (const GgufTensor& entry : file.tensors()) names.emplace_back(entry.name);
    const bool is_key = std::ranges::any_of(file.metadata(), [&](const auto& entry) { return entry.first == name; });
    fail(ErrorCode::not_found, "{}: no tensor '{}'{}; wick inspect lists {}", file.name(), name, did_you_mean(name, names),
         is_key ? "the metadata, where this is a key" : "the tensors");
  }
  if (!is_readable(tensor->dtype)) fail(ErrorCode::unsupported, "tensor '{}': {} cannot be read", name, ggml_name(tensor->dtype));
  const int64_t columns = std::max<int64_t>(tensor->shape.rank() == 0 ? 1 : tensor->shape.last(), 1);
  const int64_t rows = tensor->shape.elements() / columns;
  const auto [begin, end] = parse_rows(row_range, rows);
  if (is_integer(tensor->dtype)) return print_rows<int64_t>(console, *tensor, begin, end);
  if (tensor->dtype == DType::f64) return print_rows<double>(console, *tensor, begin, end);
  print_rows<float>(console, *tensor, begin, end);
}

void dump_command(Console& console, const Arguments& arguments) {
  std::string path;
  std::string tensor;
  std::string rows;
  Flags flags("Prints a GGUF file's metadata and tensors, or the numbers of one tensor: a line for each row, dequantized.", console);
  flags.add_argument("FILE", "the file", path).required().path();
  flags.add_argument("TENSOR", "the name of a tensor", tensor);
  flags.add_text("--rows", "BEGIN:END", "only these rows of the tensor, counted from 0; END is not included", rows);
  flags.examples({"wick gguf dump model.gguf", "wick gguf dump model.gguf output_norm.weight",
                  "wick gguf dump model.gguf token_embd.weight --rows 0:2"});
  if (!flags.parse(arguments)) return;
  if (tensor.empty()) return inspect_command(console, {path});
  dump_tensor(console, GgufFile::open(path), tensor, rows);
}

constexpr auto kGgufSubcommands = std::to_array<Subcommand>({
    {"dump", "print metadata and tensors, or a tensor's numbers", dump_command},
    {"set", "write a copy with changed metadata", set_command},
    {"split", "split a model into several files", split_command},
    {"merge", "merge the parts of a model", merge_command},
    {"hash", "print or check SHA-256 of the tensors", hash_command},
});

}  // namespace

void gguf_command(Console& console, const Arguments& arguments) {
  const CommandGroup group{.name = "wick gguf",
                           .description = "Shows, edits, splits and merges GGUF files.",
                           .examples = {"wick gguf dump models/novelist-20m-q8_0.gguf", "wick gguf split model.gguf model --max-size 2G"},
                           .subcommands = kGgufSubcommands};
  run_group(console, group, arguments);
}

}  // namespace wick
