// Reads any bytes as a PyTorch file and uses every tensor that the reader hands out; only wick::Error may come of it. The CRCs of zip
// archives keep most changes from the pickle, so what follows the first PROTO opcode is also read as a pickle alone.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/formats/pickle.h"
#include "wick/formats/pytorch.h"
#include "wick/formats/pytorch_structure.h"

namespace {

// What was read goes here, so that no read is optimized away.
volatile uint64_t sink = 0;

void consume(uint64_t value) { sink = sink + value; }

// Whether the action went through; an Error is a refusal, and nothing else may be thrown.
template <class Action>
bool accepted(Action&& action) {
  try {
    action();
    return true;
  } catch (const wick::Error& error) {
    consume(std::string_view(error.what()).size());
    return false;
  }
}

void walk(const wick::PytorchFile& file) {
  for (const wick::PytorchTensor& tensor : file.tensors()) {
    if (file.find(tensor.name) != &tensor) std::abort();
    accepted([&] {
      for (const std::byte byte : file.read(tensor)) consume(std::to_integer<uint64_t>(byte));
    });
  }
  for (const wick::LeftOut& value : file.refused()) consume(value.name.size() + value.what.size());
  for (const wick::LeftOut& value : file.opaque()) consume(value.name.size() + value.what.size());
}

void walk(const wick::Pickle& pickle) {
  for (wick::PickleId id = 0; id < pickle.size(); ++id) {
    consume(pickle.describe(id).size());
    for (const wick::PickleId item : pickle[id].items) {
      if (item >= pickle.size()) std::abort();
    }
  }
  const wick::PytorchStructure structure = wick::read_pytorch_structure(pickle, "input");
  consume(structure.tensors.size() + wick::pytorch_storage_elements(pickle, "input").size());
}

// The pickle of a zip archive's structure begins behind its local header: the first PROTO opcode.
std::span<const std::byte> first_pickle(std::span<const std::byte> bytes) {
  const auto begin = std::find(bytes.begin(), bytes.end(), std::byte{0x80});
  return bytes.subspan(static_cast<size_t>(begin - bytes.begin()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const bool is_file = accepted([&] { walk(wick::PytorchFile::parse(bytes, "input")); });
  accepted([&] { walk(wick::PytorchFile::parse(bytes, "input", "state_dict")); });
  const bool is_pickle = accepted([&] { walk(wick::Pickle::parse(first_pickle(bytes), "input")); });
  ++(is_file || is_pickle ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
