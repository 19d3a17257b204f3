// Quantized matrices of a Hugging Face folder: which tensors belong together, by config.json's "quantization_config", and their values as
// blocks or f16. The layouts themselves are in quant/.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/error.h"
#include "wick/formats/sharded_safetensors.h"
#include "wick/layout/dtype.h"
#include "wick/layout/shape.h"

namespace wick {

enum class QuantizationMethod { gptq, awq, packed_rows, float8, bitsandbytes, hqq, mlx, bitnet };

// A module's own width and group size.
struct ModuleQuantization {
  int bits = 4;
  int64_t group_size = 64;
};

struct QuantizationConfig {
  QuantizationMethod method = QuantizationMethod::gptq;
  std::string name;                                                     // as config.json has it, for messages
  int bits = 4;                                                         // where the tensors do not tell
  int64_t group_size = 128;                                             // columns; -1: all
  bool zeros_less_one = true;                                           // GPTQ's first form
  int64_t block_rows = 0, block_columns = 0;                            // of a scale of 8-bit floats; 0: the shape of the scales tells
  bool divides_by_scale = false;                                        // BitNet's "bitlinear"
  std::map<std::string, ModuleQuantization, std::less<>> modules = {};  // MLX's exceptions
};

// A matrix [out, in] that is made of several stored tensors.
struct QuantizedMatrix {
  std::string stored;  // the tensor with its codes, for messages
  std::string module;  // "model.layers.0.mlp.up_proj"
  DType dtype = DType::f16;
  Shape shape = {};
  // The factor of the values in `dtype`, a tensor of its own in GGUF files; those in f16 and f32 have it.
  float scale = 1;
  // In `dtype`, in f16 or f32; of Q4_0, Q5_0 and Q8_0 also in a wider one, which other experts of the stack need.
  std::function<void(DType dtype, std::span<std::byte> to)> write = {};
  std::shared_ptr<const void> owner = {};
};

// The files of all parts of a matrix.
[[nodiscard]] std::shared_ptr<const void> owners_of(std::vector<std::shared_ptr<const MappedFile>> files);

class QuantizedFolder {
 public:
  QuantizedFolder(const ShardedSafetensors& stored, QuantizationConfig config, std::string folder)
      : stored_(stored), config_(std::move(config)), folder_(std::move(folder)) {}

  // Whether the tensor is a part of a matrix that another tensor stands for, or only of use where activations are quantized.
  [[nodiscard]] bool is_part(std::string_view name) const;
  // The matrix whose codes the tensor has; none for a tensor that is not quantized. Errors: not_found for a part that is missing,
  // corrupt_file and shape_mismatch for parts that contradict each other or the configuration; each names the tensors.
  [[nodiscard]] std::optional<QuantizedMatrix> find_matrix(const SafetensorsTensor& tensor) const;

 private:
  struct Parts;
  [[nodiscard]] const SafetensorsTensor& part(const std::string& module, std::string_view end, std::string_view codes) const;
  [[nodiscard]] QuantizedMatrix gptq(const SafetensorsTensor& codes, const std::string& module) const;
  [[nodiscard]] QuantizedMatrix awq(const SafetensorsTensor& codes, const std::string& module) const;
  [[nodiscard]] QuantizedMatrix packed_rows(const SafetensorsTensor& codes, const std::string& module) const;
  [[nodiscard]] QuantizedMatrix float8(const SafetensorsTensor& codes, const std::string& module) const;
  [[nodiscard]] QuantizedMatrix float4(const SafetensorsTensor& codes, const std::string& module) const;
  [[nodiscard]] QuantizedMatrix codebook4(const SafetensorsTensor& codes, const std::string& module) const;
  [[nodiscard]] QuantizedMatrix int8_rows(const SafetensorsTensor& codes, const std::string& module) const;
  [[nodiscard]] QuantizedMatrix hqq(const SafetensorsTensor& codes, const std::string& module) const;
  [[nodiscard]] QuantizedMatrix mlx(const SafetensorsTensor& codes, const std::string& module) const;
  [[nodiscard]] QuantizedMatrix bitnet(const SafetensorsTensor& codes, const std::string& module) const;
  // Errors: shape_mismatch unless the tensor has this dtype and shape.
  void check(const SafetensorsTensor& tensor, std::initializer_list<DType> dtypes, const Shape& shape, std::string_view why) const;
  void check_groups(const SafetensorsTensor& index, int64_t columns, int64_t groups) const;
  // Errors: shape_mismatch unless the tensor has one float, which is returned.
  [[nodiscard]] float number_of(const SafetensorsTensor& tensor, std::string_view why) const;
  // Errors: shape_mismatch unless the tensor has this dtype and as many elements, in whatever shape.
  void check_elements(const SafetensorsTensor& tensor, DType dtype, int64_t elements, std::string_view why) const;
  // Errors: always: "tensor '…' u8 [2, 3]: WHY".
  [[noreturn]] void refuse(const SafetensorsTensor& tensor, ErrorCode code, std::string_view why) const;

  const ShardedSafetensors& stored_;
  QuantizationConfig config_;
  std::string folder_;
};

}  // namespace wick
