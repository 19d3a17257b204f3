// The endpoints of OpenAI's batches, /v1/files and /v1/batches, as a part of the server.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "wick/server/serve.h"

namespace wick::server {

// For ServeOptions::batches: keeps files and batches in the folder, and answers them. Without a folder the endpoints say how to start the
// server with one. Errors of what it returns: BatchStore's.
[[nodiscard]] std::function<std::unique_ptr<ServerPart>(const ServerPartOptions&)> make_batch_part(const std::filesystem::path& folder);

}  // namespace wick::server
