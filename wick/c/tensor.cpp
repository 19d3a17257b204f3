#include <memory>
#include <span>
#include <string>

#include "wick/base/fail.h"
#include "wick/c/guard.h"
#include "wick/tensor/dlpack.h"
#include "wick/tensor/files.h"

struct wick_tensor {
  wick::dlpack::Exchanged value = {};
  std::string dtype = {};
};

namespace wick::c {
namespace {

wick_tensor* new_tensor(dlpack::Exchanged value) {
  std::string dtype = value.boolean ? "bool" : std::string(to_string(value.tensor.dtype()));
  return std::make_unique<wick_tensor>(std::move(value), std::move(dtype)).release();
}

NamedTensors load_file(const std::filesystem::path& path) {
  const std::string suffix = path.extension().string();
  if (suffix == ".npz") return read_npz(path);
  if (suffix == ".pt" || suffix == ".pth" || suffix == ".bin") return load_pytorch(path);
  return load_safetensors(path);
}

Shape shape_of(const int64_t* shape, int32_t rank, const char* function) {
  if (rank < 0) fail(ErrorCode::invalid_argument, "{}: rank {} must be 0 or more", function, rank);
  if (rank > 0) need(shape, function, "shape");
  return Extents(std::span(shape, static_cast<size_t>(rank))).checked(function);
}

}  // namespace
}  // namespace wick::c

extern "C" {

wick_status wick_tensor_from_dlpack(void* managed, wick_tensor** tensor) {
  return wick::c::guarded([&] {
    wick::c::need(managed, "wick_tensor_from_dlpack", "managed");
    auto* const given = static_cast<wick::dlpack::DlManagedVersioned*>(managed);
    const std::shared_ptr<const void> owner(given, [](wick::dlpack::DlManagedVersioned* held) {
      if (held->deleter != nullptr) held->deleter(held);
    });
    wick::c::need(tensor, "wick_tensor_from_dlpack", "tensor");
    if (given->major != 1) {
      wick::fail(wick::ErrorCode::unsupported, "wick_tensor_from_dlpack: DLPack version {}; this library reads version 1", given->major);
    }
    const bool read_only = (given->flags & wick::dlpack::kReadOnly) != 0;
    *tensor = wick::c::new_tensor(wick::dlpack::borrow(given->tensor, read_only, false, owner));
  });
}

wick_status wick_tensor_to_dlpack(const wick_tensor* tensor, void** managed) {
  return wick::c::guarded([&] {
    wick::c::need(tensor, "wick_tensor_to_dlpack", "tensor");
    wick::c::need(managed, "wick_tensor_to_dlpack", "managed");
    *managed = wick::dlpack::lend<wick::dlpack::DlManagedVersioned>(tensor->value);
  });
}

void wick_tensor_free(wick_tensor* tensor) { const std::unique_ptr<wick_tensor> freed(tensor); }

int32_t wick_tensor_rank(const wick_tensor* tensor) { return tensor == nullptr ? 0 : tensor->value.tensor.rank(); }

int64_t wick_tensor_extent(const wick_tensor* tensor, int32_t dimension) {
  if (tensor == nullptr || dimension < 0 || dimension >= tensor->value.tensor.rank()) return -1;
  return tensor->value.tensor.shape()[dimension];
}

const char* wick_tensor_dtype(const wick_tensor* tensor) { return tensor == nullptr ? "" : tensor->dtype.c_str(); }

wick_status wick_tensor_load(const char* path, const char* name, wick_tensor** tensor) {
  return wick::c::guarded([&] {
    wick::c::need(path, "wick_tensor_load", "path");
    wick::c::need(name, "wick_tensor_load", "name");
    wick::c::need(tensor, "wick_tensor_load", "tensor");
    const wick::NamedTensors tensors = wick::c::load_file(path);
    const auto found = tensors.find(std::string_view(name));
    if (found == tensors.end()) wick::fail(wick::ErrorCode::not_found, "wick_tensor_load: {} has no tensor {}", path, name);
    *tensor = wick::c::new_tensor({.tensor = found->second});
  });
}

wick_status wick_tensor_rand(const int64_t* shape, int32_t rank, wick_tensor** tensor) {
  return wick::c::guarded([&] {
    wick::c::need(tensor, "wick_tensor_rand", "tensor");
    *tensor = wick::c::new_tensor({.tensor = wick::Tensor::rand(wick::c::shape_of(shape, rank, "wick_tensor_rand"))});
  });
}

wick_status wick_tensor_randn(const int64_t* shape, int32_t rank, wick_tensor** tensor) {
  return wick::c::guarded([&] {
    wick::c::need(tensor, "wick_tensor_randn", "tensor");
    *tensor = wick::c::new_tensor({.tensor = wick::Tensor::randn(wick::c::shape_of(shape, rank, "wick_tensor_randn"))});
  });
}

wick_status wick_tensor_matmul(const wick_tensor* lhs, const wick_tensor* rhs, wick_tensor** product) {
  return wick::c::guarded([&] {
    wick::c::need(lhs, "wick_tensor_matmul", "lhs");
    wick::c::need(rhs, "wick_tensor_matmul", "rhs");
    wick::c::need(product, "wick_tensor_matmul", "product");
    *product = wick::c::new_tensor({.tensor = lhs->value.tensor.matmul(rhs->value.tensor)});
  });
}

}  // extern "C"
