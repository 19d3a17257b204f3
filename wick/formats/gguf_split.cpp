// Opening a GGUF file from disk, and putting the parts of a split one together. A split file's first part holds the metadata; each
// part has its number (split.no), the number of parts (split.count) and the tensors of all parts (split.tensors.count).
#include <system_error>
#include <utility>

#include "wick/base/fail.h"
#include "wick/formats/gguf.h"
#include "wick/formats/printable.h"
#include "wick/formats/split_name.h"

namespace wick {
namespace {

constexpr const char* kPartsRemedy = "download the parts again";

// "-00001-of-00003.gguf"
std::string part_suffix(uint64_t number, uint64_t count) { return SplitName{.stem = {}, .number = number, .count = count}.to_string(); }

// The path of part `index` beside the first part, whose name must end as gguf-split writes it.
std::filesystem::path part_path(const std::filesystem::path& first, uint64_t index, uint64_t count) {
  std::optional<SplitName> name = SplitName::parse(first.filename().string());
  if (!name || name->number != 1 || name->count != count) {
    fail(ErrorCode::corrupt_file, "{}: metadata 'split.count' says {} parts, so the name must end in {}; give the file its name back",
         first.string(), count, printable(part_suffix(1, count)));
  }
  name->number = index + 1;
  return first.parent_path() / name->to_string();
}

}  // namespace

GgufFile GgufFile::open_part(const std::filesystem::path& path) {
  std::shared_ptr<MappedFile> mapping = MappedFile::open(path);
  GgufFile file = parse(mapping->bytes(), path.string());
  for (GgufTensor& tensor : file.tensors_) tensor.file = mapping;
  file.files_.push_back(std::move(mapping));
  return file;
}

void GgufFile::append_part(GgufFile part) {
  for (GgufTensor& tensor : part.tensors_) {
    if (!tensor_index_.emplace(tensor.name, tensors_.size()).second) {
      fail(ErrorCode::corrupt_file, "{}: tensor {} at byte {}: an earlier part has it too; {}", part.name_, printable(tensor.name),
           part.offset_of(tensor.name), kPartsRemedy);
    }
    tensors_.push_back(std::move(tensor));
  }
  file_bytes_ += part.file_bytes_;
  for (auto& mapping : part.files_) files_.push_back(std::move(mapping));
}

GgufFile GgufFile::open(const std::filesystem::path& path) {
  GgufFile file = open_part(path);
  const uint64_t count = file.find_uint("split.count").value_or(1);
  if (const uint64_t number = file.find_uint("split.no").value_or(0); number != 0) {
    fail(ErrorCode::invalid_argument, "{}: metadata 'split.no' is {}: this is part {} of {}; name the first part, '…{}'", path.string(),
         number, number + 1, count, part_suffix(1, count));
  }
  if (count == 0) fail(ErrorCode::corrupt_file, "{}: metadata 'split.count' is 0; {}", path.string(), kPartsRemedy);
  for (uint64_t index = 1; index < count; ++index) {
    const std::filesystem::path next = part_path(path, index, count);
    std::error_code ignored;
    if (!std::filesystem::exists(next, ignored)) {
      fail(ErrorCode::not_found, "{}: part {} of {} is missing; put it beside {}", next.string(), index + 1, count,
           printable(path.filename().string()));
    }
    GgufFile part = open_part(next);
    if (const auto number = part.find_uint("split.no"); number != index) {
      fail(ErrorCode::corrupt_file, "{}: metadata 'split.no' is {}, but part {} of {} has {}; {}", part.name_,
           number ? std::to_string(*number) : "absent", index + 1, count, index, kPartsRemedy);
    }
    if (const auto own_count = part.find_uint("split.count"); own_count != count) {
      fail(ErrorCode::corrupt_file, "{}: metadata 'split.count' is {}, but the first part says {}; {}", part.name_,
           own_count ? std::to_string(*own_count) : "absent", count, kPartsRemedy);
    }
    file.append_part(std::move(part));
  }
  const auto tensors = file.find_uint("split.tensors.count");
  if (tensors && *tensors != file.tensors_.size()) {
    fail(ErrorCode::corrupt_file, "{}: metadata 'split.tensors.count' is {}, but the {} parts hold {} tensors; {}", path.string(), *tensors,
         count, file.tensors_.size(), kPartsRemedy);
  }
  return file;
}

}  // namespace wick
