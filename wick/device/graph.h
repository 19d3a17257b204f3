// A Graph is work for a device's queue, recorded once and queued again by one call, without what the host does to prepare it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "wick/device/capture.h"
#include "wick/device/device.h"
#include "wick/device/program.h"

namespace [[gnu::visibility("default")]] wick {

// Launches, copies, fills and uploads, in their order, with the arguments that they had; an upload brings the same bytes again. What they
// touch stays, also when its owner has freed it. Random numbers are those of the recording.
class Graph {
 public:
  // Runs `body`, which calls ops on tensors of this device or its queue itself, and records what it queues; downloads, waiting and events
  // are not recorded, nor is what other threads queue. Errors: unsupported for a device that has no kernels, such as the CPU;
  // those of `body`.
  [[nodiscard]] static Graph record(const Device& device, const std::function<void()>& body);

  // Queues all nodes; does not wait. Where the device's driver keeps such work itself, it is given the nodes when they are replayed for the
  // second time without a change, and replays them by one call from then on. One thread at a time. Errors: those of the queue.
  void replay() const;

  [[nodiscard]] size_t size() const noexcept { return nodes_.size(); }
  // The kernel's name, or "copy", "fill", "upload".
  [[nodiscard]] std::string_view name(size_t node) const;
  // Sets a launch's parameter `index` from the next replay on: the bits of a u32, i32 or f32. Errors: invalid_argument
  // for a node or a parameter that is not there.
  void set_parameter(size_t node, size_t index, uint32_t bits);

 private:
  friend class RecordingQueue;
  struct LaunchNode {
    std::shared_ptr<const Program> program;
    ir::Grid grid;
    std::vector<std::shared_ptr<Buffer>> owners;
    std::vector<BufferArgument> buffers;  // of the owners
    std::vector<uint32_t> parameters;
  };
  struct CopyNode {
    std::shared_ptr<Buffer> source, target;
    size_t source_offset, target_offset, bytes;
  };
  struct FillNode {
    std::shared_ptr<Buffer> target;
    size_t offset, bytes;
    std::byte value;
  };
  struct UploadNode {
    std::shared_ptr<Buffer> target;
    size_t offset;
    std::vector<std::byte> bytes;
  };
  using Node = std::variant<LaunchNode, CopyNode, FillNode, UploadNode>;

  explicit Graph(Device device) : device_(std::move(device)) {}
  void queue_nodes(Queue& queue) const;
  void capture() const;
  static void queue_node(Queue& queue, const LaunchNode& node);
  static void queue_node(Queue& queue, const CopyNode& node);
  static void queue_node(Queue& queue, const FillNode& node);
  static void queue_node(Queue& queue, const UploadNode& node);

  Device device_;                 // outlives the nodes
  std::shared_ptr<void> memory_;  // that was allocated for the recording, for which later buffers of it used it again
  std::vector<Node> nodes_;
  mutable int replays_ = 0;  // since the last change
  mutable std::shared_ptr<CapturedWork> captured_;
};

}  // namespace wick
