#include "wick/ir/race_monitor.h"

#include <fmt/format.h>

namespace wick::ir {

bool RaceMonitor::Past::conflicts(const Accessor& who) const noexcept {
  if (interval == 0) return false;
  if (many_groups || group != who.group) return true;
  return interval == who.interval && (many_lanes || lane != who.lane);
}

void RaceMonitor::Past::add(const Accessor& who) noexcept {
  many_groups = many_groups || (interval != 0 && group != who.group);
  many_lanes = interval == who.interval && (many_lanes || lane != who.lane);
  group = who.group;
  lane = who.lane;
  interval = who.interval;
}

std::optional<std::string> RaceMonitor::note(std::size_t element, AccessKind kind, const Accessor& who) {
  History& history = histories_[element];
  const auto against = [&](const Past& past, const char* what) -> std::optional<std::string> {
    if (!past.conflicts(who)) return std::nullopt;
    return fmt::format("{} by lane {} of group {}", what, past.lane, past.group);
  };
  std::optional<std::string> conflict;
  if (!conflict) conflict = against(history.writer, "a write");
  if (!conflict && kind != AccessKind::read) conflict = against(history.reader, "a read");
  if (!conflict && kind != AccessKind::atomic) conflict = against(history.updater, "an atomic update");
  (kind == AccessKind::read ? history.reader : kind == AccessKind::write ? history.writer : history.updater).add(who);
  return conflict;
}

}  // namespace wick::ir
