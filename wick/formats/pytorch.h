// PyTorch's files (.pt, .pth, .bin): the tensors of a pickled structure, without running any of it. Read are the zip archives of
// PyTorch 1.6 and later and the "legacy" files of pickles with the storages behind them; tar files of before 0.1.10 are refused.
//
// The structure's dictionaries, lists and tuples are walked, and a tensor is called by its way through them, "optimizer.state.0.step".
// Known are the functions torch._utils._rebuild_tensor, _rebuild_tensor_v2, _rebuild_tensor_v3, _rebuild_parameter,
// _rebuild_parameter_with_state, torch._tensor._rebuild_from_type_v2, torch.Size, the classes of storages and the names of dtypes.
// Everything else (hyper parameters, optimizers, NumPy scalars, modules) is opaque: listed, never looked into, never run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/mapped_file.h"
#include "wick/formats/left_out.h"
#include "wick/layout/dtype.h"
#include "wick/layout/layout.h"

namespace wick {

struct PytorchTensor {
  std::string name;  // empty if the file is nothing but this tensor
  DType dtype = DType::f32;
  Layout layout;       // in elements of the storage; strides are 0 where a tensor was expanded
  size_t storage = 0;  // in storages(); tensors may share one
};

// Bytes that tensors look at.
struct PytorchStorage {
  std::string key;
  std::span<const std::byte> data;    // in the mapping, at any alignment; in memory where the archive had it deflated
  std::shared_ptr<const void> owner;  // keeps the data alive; nullptr where the caller of parse() does
};

class PytorchFile {
 public:
  // With a key: only the tensors whose name begins with it and a dot, without both ("state_dict" of a checkpoint).
  // Errors: not_found (also a key without tensors), io, corrupt_file, unsupported (big-endian, a pickled module, a tar file); each
  // names path, entry or byte, and tensor. A CRC is checked for the pickle, and for a storage that is deflated; stored ones are not
  // read here.
  [[nodiscard]] static PytorchFile open(const std::filesystem::path& path, std::string_view key = {},
                                        MapAccess access = MapAccess::read_only);
  // Parses bytes that the caller keeps alive; `name` is used as the path in errors.
  [[nodiscard]] static PytorchFile parse(std::span<const std::byte> bytes, const std::string& name, std::string_view key = {});

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // "zip" or "legacy".
  [[nodiscard]] std::string_view container() const noexcept { return container_; }
  // In the structure's order.
  [[nodiscard]] std::span<const PytorchTensor> tensors() const noexcept { return tensors_; }
  [[nodiscard]] std::span<const PytorchStorage> storages() const noexcept { return storages_; }
  // Tensors that Wick has no dtype or no layout for: uint16, complex, quantized, sparse…
  [[nodiscard]] std::span<const LeftOut> refused() const noexcept { return refused_; }
  // Values that are not known.
  [[nodiscard]] std::span<const LeftOut> opaque() const noexcept { return opaque_; }

  // nullptr if absent or refused.
  [[nodiscard]] const PytorchTensor* find(std::string_view tensor) const noexcept;
  // Errors: not_found; unsupported for one of refused(), with the reason.
  [[nodiscard]] const PytorchTensor& get(std::string_view tensor) const;
  // Errors: unsupported if any tensor was refused, naming the first: for who needs all of them.
  void require_all() const;
  // The elements in row-major order. Errors: unsupported for a tensor that repeats its storage far beyond the storage's size.
  [[nodiscard]] std::vector<std::byte> read(const PytorchTensor& tensor) const;

 private:
  struct Source;

  void collect(const class Pickle& pickle, const Source& source, std::string_view key);

  std::string name_;
  std::string_view container_;
  std::vector<PytorchTensor> tensors_;
  std::vector<PytorchStorage> storages_;
  std::vector<LeftOut> refused_;
  std::vector<LeftOut> opaque_;
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace wick
