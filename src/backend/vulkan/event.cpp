#include "backend/vulkan/event.h"

namespace wick::vulkan {

std::optional<double> QueueEvent::seconds_since(const Event& earlier) const {
  const auto& from = static_cast<const QueueEvent&>(earlier);  // of the same queue, as Event asks
  if (!timestamp_ || !from.timestamp_) return std::nullopt;
  const std::optional<double> end = queue_->timestamps().seconds(*timestamp_);
  const std::optional<double> begin = queue_->timestamps().seconds(*from.timestamp_);
  return end && begin ? std::optional(*end - *begin) : std::nullopt;
}

}  // namespace wick::vulkan
