#include "wick/cli/commands/inspect_tensors.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <ostream>
#include <utility>
#include <vector>

#include "wick/base/checked.h"
#include "wick/base/error.h"
#include "wick/base/json.h"
#include "wick/base/terminal_text.h"
#include "wick/cli/text_format.h"
#include "wick/formats/npz.h"
#include "wick/formats/printable.h"
#include "wick/formats/pytorch.h"
#include "wick/formats/safetensors.h"
#include "wick/formats/sharded_safetensors.h"
#include "wick/formats/zip.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

struct Row {
  std::string name;
  DType dtype;
  Shape shape;
  Json more = Json::object();  // what only this format has
};

struct Listing {
  std::string format;
  std::vector<Row> rows = {};
  Json metadata = Json::object();
  std::vector<LeftOut> refused = {};  // tensors that Wick cannot read, and why
  std::vector<LeftOut> opaque = {};   // values that are no tensors
};

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// Of plain numbers, as all these formats hold; an expanded tensor may have more than any number.
int64_t bytes_of(const Row& row) { return (Checked(row.shape.elements()) * info(row.dtype).block_bytes).value_or(kMax); }

Json list_of(std::span<const int64_t> numbers) { return Json(std::vector<int64_t>(numbers.begin(), numbers.end())); }

Json list_of(const std::vector<LeftOut>& values, const char* what) {
  Json list = Json::array();
  for (const LeftOut& value : values) list.push_back({{"name", value.name}, {what, value.what}});
  return list;
}

Listing list_safetensors(const std::string& path) {
  const ShardedSafetensors model = ShardedSafetensors::open(path);
  const size_t shards = model.files().size();
  Listing listing{.format = shards == 1 ? "safetensors" : fmt::format("safetensors in {} shards", shards)};
  std::map<std::string, std::string> metadata;
  for (const SafetensorsFile& file : model.files()) {
    for (const auto& [key, value] : file.metadata()) metadata.insert_or_assign(key, value);
    listing.refused.insert(listing.refused.end(), file.refused().begin(), file.refused().end());
    for (const SafetensorsTensor& tensor : file.tensors()) {
      Row row{.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape};
      row.more["offset"] = tensor.data.data() - tensor.file->bytes().data();
      if (shards > 1) row.more["file"] = std::filesystem::path(file.name()).filename().string();
      listing.rows.push_back(std::move(row));
    }
  }
  // Appended, not looked up: a look-up in a list is a search.
  auto& entries = listing.metadata.get_ref<Json::object_t&>();
  for (const auto& [key, value] : metadata) entries.push_back({key, value});
  return listing;
}

Row row_of(std::string name, const NpyHeader& header) {
  Row row{.name = std::move(name), .dtype = header.dtype, .shape = header.shape};
  row.more["fortran_order"] = header.fortran_order;
  row.more["big_endian"] = header.big_endian;
  return row;
}

Listing list_npy(const std::string& path) {
  const auto file = MappedFile::open(path);
  const NpyHeader header = parse_npy_header(file->bytes(), path);
  check_npy_size(header, file->bytes().size() - header.data_offset, path);
  return {.format = "npy", .rows = {row_of("", header)}};
}

Listing list_npz(const std::string& path) {
  const NpzFile file = NpzFile::open(path);
  Listing listing{.format = "npz"};
  for (const std::string& name : file.names()) {
    try {
      listing.rows.push_back(row_of(name, file.header(name)));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      listing.refused.push_back({.name = name, .what = error.what()});
    }
  }
  return listing;
}

Listing list_pytorch(const std::string& path) {
  const PytorchFile file = PytorchFile::open(path);
  Listing listing{.format = fmt::format("PyTorch ({})", file.container())};
  for (const PytorchTensor& tensor : file.tensors()) {
    Row row{.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.layout.shape()};
    row.more["strides"] = list_of(tensor.layout.strides());
    row.more["storage"] = file.storages()[tensor.storage].key;
    row.more["storage_offset"] = tensor.layout.offset();
    listing.rows.push_back(std::move(row));
  }
  listing.refused.assign(file.refused().begin(), file.refused().end());
  listing.opaque.assign(file.opaque().begin(), file.opaque().end());
  return listing;
}

Json to_json(const std::string& path, const Listing& listing, int64_t elements, int64_t bytes) {
  Json tensors = Json::array();
  for (const Row& row : listing.rows) {
    Json tensor = {{"name", row.name}, {"type", to_string(row.dtype)}, {"shape", list_of(row.shape.dims())}, {"bytes", bytes_of(row)}};
    tensor.update(row.more);
    tensors.push_back(std::move(tensor));
  }
  Json json = {{"file", path},           {"format", listing.format},     {"tensor_count", listing.rows.size()}, {"tensor_bytes", bytes},
               {"parameters", elements}, {"metadata", listing.metadata}, {"tensors", std::move(tensors)}};
  if (!listing.refused.empty()) json["refused"] = list_of(listing.refused, "reason");
  if (!listing.opaque.empty()) json["opaque"] = list_of(listing.opaque, "value");
  return json;
}

// What is unusual about a tensor's place in the file.
std::string remark(const Row& row) {
  if (row.more.contains("file")) return printable_name(row.more["file"].get<std::string>());
  if (row.more.value("fortran_order", false)) return "Fortran order";
  if (row.more.value("big_endian", false)) return "big-endian";
  if (row.more.contains("strides") && row.more["strides"] != list_of(Layout(row.shape).strides())) {
    return "strides " + json_text(row.more["strides"]);
  }
  return "";
}

void print(const Console& console, const std::string& path, const Listing& listing, int64_t elements, int64_t bytes) {
  console.out << fmt::format("{}: {}, {} tensors with {} elements in {}\n", without_controls(path), listing.format, listing.rows.size(),
                             format_count(static_cast<uint64_t>(elements)), format_bytes(static_cast<uint64_t>(bytes)));
  for (const auto& [key, value] : listing.metadata.items()) {
    console.out << fmt::format("  {:<44} {}\n", printable_name(key), printable(value.get<std::string>()));
  }
  for (const Row& row : listing.rows) {
    std::string line = fmt::format("  {:<44} {:<8} {:<22} {:>14}  {}", printable_name(row.name), to_string(row.dtype),
                                   row.shape.to_string(), bytes_of(row), remark(row));
    line.erase(line.find_last_not_of(' ') + 1);
    console.out << line << '\n';
  }
  if (!listing.refused.empty()) console.out << "\nTensors that cannot be read\n";
  for (const LeftOut& value : listing.refused)
    console.out << fmt::format("  {:<44} {}\n", printable_name(value.name), without_controls(value.what));
  if (!listing.opaque.empty()) console.out << "\nOther values, left as they are\n";
  for (const LeftOut& value : listing.opaque)
    console.out << fmt::format("  {:<44} {}\n", printable_name(value.name), without_controls(value.what));
}

constexpr size_t kHeadBytes = 262;  // up to a tar archive's magic

// Nothing of a FIFO or a device, which would wait or never end; opening it as a model says what it is.
std::string head_of(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return "";
  std::string head(kHeadBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

bool has_pickle(const ZipFile& zip) {
  for (const ZipEntry& entry : zip.entries()) {
    if (entry.name.ends_with("data.pkl")) return true;
  }
  return false;
}

}  // namespace

bool inspect_tensors(const Console& console, const std::string& path, bool json) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  const std::string head = is_folder ? "" : head_of(path);
  Listing listing;
  if (is_folder || std::filesystem::path(path).extension() == ".json") {  // NOLINT(bugprone-branch-clone): asked in this order
    listing = list_safetensors(path);
  } else if (head.starts_with("\x93NUMPY")) {
    listing = list_npy(path);
  } else if (head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06")) {
    listing = has_pickle(ZipFile::open(path)) ? list_pytorch(path) : list_npz(path);
  } else if ((head.starts_with('\x80') && !(head.size() > 8 && head[8] == '{')) ||  // a pickle
             (head.size() == kHeadBytes && head.ends_with("ustar"))) {
    listing = list_pytorch(path);
  } else if (head.size() > 8 && head[8] == '{' && !head.starts_with("GGUF")) {
    // A safetensors file begins with the length of its header, and the header with '{'.
    listing = list_safetensors(path);
  } else {
    return false;
  }
  // Of views that repeat their elements, as PyTorch's expanded tensors, the sum may be more than any number.
  Checked bytes = 0;
  Checked elements = 0;
  for (const Row& row : listing.rows) {
    bytes = bytes + bytes_of(row);
    elements = elements + row.shape.elements();
  }
  if (json) {
    const std::string text = json_text(to_json(path, listing, elements.value_or(kMax), bytes.value_or(kMax)), 2);
    console.out << json_without_controls(text) << '\n';
  } else {
    print(console, path, listing, elements.value_or(kMax), bytes.value_or(kMax));
  }
  return true;
}

}  // namespace wick
