// An OpCall is one op with its parameters and operands, as the library hands it to a backend.
#pragma once

#include <cstdint>
#include <span>

#include "wick/device/buffer.h"
#include "wick/layout/dtype.h"
#include "wick/layout/layout.h"
#include "wick/op/op.h"

namespace [[gnu::visibility("default")]] wick {

class PreparedWeight;
class Runtime;

// One operand of a call. The layout's offset is in elements of dtype from the buffer's start. `prepared` is what the device made of the
// storage's bytes (prepared_weight.h), nullptr if nothing; the buffer has them all the same. `host_ids` are all elements of the buffer, if
// the host knows them (Storage::host_ids).
struct Operand {
  Buffer* buffer = nullptr;
  DType dtype = DType::f32;
  const Layout* layout = nullptr;
  const PreparedWeight* prepared = nullptr;
  std::span<const int32_t> host_ids = {};
};

struct OpCall {
  OpId op;
  const void* params = nullptr;  // the op's parameter struct
  std::span<const Operand> inputs;
  std::span<const Operand> outputs;
  Runtime* runtime = nullptr;

  template <class Params>
  [[nodiscard]] const Params& parameters() const noexcept {
    return *static_cast<const Params*>(params);
  }
};

// An implementation of an op for one device. The library has checked every operand before it is called.
using OpFunction = void (*)(const OpCall& call);

}  // namespace wick
