// Declarations that the backend's other files need from its table.
#pragma once

#include <memory>

#include "wick/device/registry.h"
#include "wick/device/streams/stream_api.h"

namespace wick::cuda {

extern const Backend kBackend;

// As kBackend.open; on that stream, unless it is nullptr.
[[nodiscard]] std::unique_ptr<Runtime> open_on_stream(int index, const DeviceOptions& options, StreamHandle stream);

}  // namespace wick::cuda
