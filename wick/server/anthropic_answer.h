// Answers of Anthropic's API: a message, or the events of a stream that make one.
#pragma once

#include <memory>

#include "wick/server/answer.h"
#include "wick/server/chat_request.h"
#include "wick/server/http_exchange.h"
#include "wick/server/worker.h"

namespace wick::server {

[[nodiscard]] std::unique_ptr<AnswerWriter> anthropic_writer(Exchange exchange, std::shared_ptr<Service> service, const ChatRequest& chat);

}  // namespace wick::server
