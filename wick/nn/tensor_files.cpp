#include "wick/nn/tensor_files.h"

#include <utility>

#include "wick/base/fail.h"
#include "wick/formats/gguf.h"
#include "wick/nn/named_source.h"
#include "wick/tensor/files.h"

namespace wick {
namespace {

class GgufSource final : public nn::TensorSource {
 public:
  explicit GgufSource(const std::filesystem::path& path) : file_(GgufFile::open(path)) {}

  [[nodiscard]] std::string describe() const override { return file_.name(); }
  [[nodiscard]] std::vector<std::string> names() const override {
    std::vector<std::string> names;
    names.reserve(file_.tensors().size());
    for (const GgufTensor& tensor : file_.tensors()) names.emplace_back(tensor.name);
    return names;
  }
  [[nodiscard]] bool contains(std::string_view name) const override { return file_.find_tensor(name) != nullptr; }
  [[nodiscard]] Tensor load(const nn::TensorRequest& request) const override {
    const GgufTensor& tensor = *file_.find_tensor(request.name);
    return nn::as_requested(Tensor::import_host(tensor.data, tensor.shape, tensor.dtype, request.device, tensor.file), request);
  }

 private:
  GgufFile file_;
};

class SafetensorsSink final : public nn::TensorSink {
 public:
  void put(std::string_view name, const Tensor& tensor) override { tensors_.emplace(name, tensor); }
  [[nodiscard]] const NamedTensors& tensors() const noexcept { return tensors_; }

 private:
  NamedTensors tensors_;
};

}  // namespace

std::shared_ptr<const nn::TensorSource> open_tensor_source(const std::filesystem::path& path, const Device& device) {
  const std::string ending = path.extension().string();
  const auto named = [&](NamedTensors tensors) { return std::make_shared<const nn::NamedSource>(path.string(), std::move(tensors)); };
  std::error_code ignored;
  if (ending == ".safetensors" || ending == ".json" || std::filesystem::is_directory(path, ignored))
    return named(load_safetensors(path, device));
  if (ending == ".npz") return named(read_npz(path, device));
  if (ending == ".pt" || ending == ".pth" || ending == ".bin") return named(load_pytorch(path, device));
  if (ending == ".gguf") return std::make_shared<const GgufSource>(path);
  fail(ErrorCode::unsupported,
       "{}: a name that ends in '{}'; tensors are read from .safetensors, .json (an index), .npz, .pt, .pth, .bin "
       "and .gguf files",
       path.string(), ending);
}

void save_variables(const nn::VarMap& vars, const std::filesystem::path& path, const std::map<std::string, std::string>& metadata) {
  SafetensorsSink sink;
  vars.save(sink);
  save_safetensors(sink.tensors(), path, metadata);
}

}  // namespace wick
