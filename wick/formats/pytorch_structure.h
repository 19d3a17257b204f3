// The structure of a PyTorch pickle: names, dtypes, layouts and storages of its tensors; no bytes of tensors.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/formats/left_out.h"
#include "wick/formats/pickle.h"
#include "wick/formats/pytorch.h"
#include "wick/layout/dtype.h"
#include "wick/layout/layout.h"

namespace wick {

// A reference to a storage: the pickle's persistent identifier ("storage", class, key, location, elements[, view]).
struct PytorchStorageRef {
  std::string_view key;
  std::string_view class_name;  // "FloatStorage"
  std::optional<DType> dtype;   // none for UntypedStorage and for classes that Wick has no dtype for
  int64_t element_bytes = 1;
  int64_t elements = 0;  // of the whole storage
  // The part of it that is meant: all of it, but for the views of legacy files.
  int64_t view_begin = 0;
  int64_t view_elements = 0;
};

struct PytorchStructure {
  struct Tensor {
    std::string name;
    DType dtype = DType::f32;
    Layout layout;  // from the storage's beginning; it is within the reference's elements
    PytorchStorageRef storage;
  };
  std::vector<Tensor> tensors;
  std::vector<LeftOut> refused;
  std::vector<LeftOut> opaque;
};

// Walks the structure below the pickle's root. Errors: corrupt_file; unsupported for a root that is no tensor and no container of
// tensors, and for structures beyond any checkpoint's size (2^20 tensors, 256 levels).
[[nodiscard]] PytorchStructure read_pytorch_structure(const Pickle& pickle, const std::string& name);

// Bytes an element of each storage that the pickle refers to, by key; also of those whose tensors are left out. Errors: corrupt_file;
// unsupported for a class of storages that is not known.
[[nodiscard]] std::map<std::string_view, int64_t> pytorch_storage_elements(const Pickle& pickle, const std::string& name);

}  // namespace wick
