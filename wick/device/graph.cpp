#include "wick/device/graph.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "wick/base/fail.h"
#include "wick/device/kernel_runtime.h"
#include "wick/device/linked_kernels.h"

namespace wick {

// Hands everything on, and notes it.
class RecordingQueue final : public Queue {
 public:
  RecordingQueue(KernelRuntime& runtime, Graph& graph)
      : runtime_(runtime), inner_(runtime.queue()), nodes_(graph.nodes_), memory_(graph.memory_) {
    if (runtime_.is_recording()) {
      fail(ErrorCode::invalid_argument, "graph: {} is recording a graph already; record one after the other", runtime.caps().name);
    }
    while (!runtime_.record_with(*this)) std::this_thread::yield();  // until another thread has recorded its own
  }
  ~RecordingQueue() override { memory_ = runtime_.stop_recording(); }

  void upload(const std::byte* source, Buffer& target, size_t offset, size_t bytes) override {
    inner_.upload(source, target, offset, bytes);
    nodes_.emplace_back(Graph::UploadNode{runtime_.share(target), offset, {source, source + bytes}});
  }
  void download(const Buffer& source, size_t offset, std::byte* target, size_t bytes) override {
    inner_.download(source, offset, target, bytes);
  }
  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) override {
    inner_.copy(source, source_offset, target, target_offset, bytes);
    nodes_.emplace_back(Graph::CopyNode{runtime_.share(source), runtime_.share(target), source_offset, target_offset, bytes});
  }
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value) override {
    inner_.fill(target, offset, bytes, value);
    nodes_.emplace_back(Graph::FillNode{runtime_.share(target), offset, bytes, value});
  }
  void launch(const Launch& launch) override {
    inner_.launch(launch);
    Graph::LaunchNode node{runtime_.share(*launch.program), launch.grid, {}, {}, {launch.parameters.begin(), launch.parameters.end()}};
    for (const BufferArgument& argument : launch.buffers) {
      node.owners.push_back(runtime_.share(*argument.buffer));
      node.buffers.push_back({node.owners.back().get(), argument.offset, argument.bytes});
    }
    nodes_.emplace_back(std::move(node));
  }
  void flush() override { inner_.flush(); }
  void synchronize() override { inner_.synchronize(); }
  [[nodiscard]] std::unique_ptr<Event> record() override { return inner_.record(); }

 private:
  KernelRuntime& runtime_;
  Queue& inner_;
  std::vector<Graph::Node>& nodes_;
  std::shared_ptr<void>& memory_;
};

Graph Graph::record(const Device& device, const std::function<void()>& body) {
  auto* const runtime = dynamic_cast<KernelRuntime*>(&device.runtime());
  if (runtime == nullptr) {
    fail(ErrorCode::unsupported, "graph: {} has no queue of kernels to record; call the ops again instead", device.location().to_string());
  }
  Graph graph(device);
  {
    const RecordingQueue recorder(*runtime, graph);
    body();
  }
  return graph;
}

void Graph::replay() const {
  if (captured_ == nullptr && ++replays_ == 2) capture();
  if (captured_ != nullptr && !device_.runtime().is_recording()) return captured_->launch();
  queue_nodes(device_.runtime().queue());
}

// An upload brings its bytes through memory that the queue uses again, so nodes of that kind stay with us.
void Graph::capture() const {
  auto& runtime = static_cast<KernelRuntime&>(device_.runtime());
  CaptureQueue* const queue = runtime.capture_queue();
  const bool uploads = std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return std::holds_alternative<UploadNode>(node); });
  if (queue == nullptr || uploads || nodes_.empty() || runtime.is_recording()) return;
  captured_ = queue->capture([&] { queue_nodes(runtime.queue()); });
}

void Graph::queue_nodes(Queue& queue) const {
  for (const Node& node : nodes_) std::visit([&](const auto& kind) { queue_node(queue, kind); }, node);
}

void Graph::queue_node(Queue& queue, const LaunchNode& node) {
  queue.launch({node.program.get(), node.grid, node.buffers, node.parameters});
}

void Graph::queue_node(Queue& queue, const CopyNode& node) {
  queue.copy(*node.source, node.source_offset, *node.target, node.target_offset, node.bytes);
}

void Graph::queue_node(Queue& queue, const FillNode& node) { queue.fill(*node.target, node.offset, node.bytes, node.value); }

void Graph::queue_node(Queue& queue, const UploadNode& node) {
  queue.upload(node.bytes.data(), *node.target, node.offset, node.bytes.size());
}

std::string_view Graph::name(size_t node) const {
  if (node >= nodes_.size()) fail(ErrorCode::invalid_argument, "graph: node {} of {}", node, nodes_.size());
  if (const auto* launch = std::get_if<LaunchNode>(&nodes_[node])) return launch->program->kernel().name;
  if (std::holds_alternative<CopyNode>(nodes_[node])) return "copy";
  return std::holds_alternative<FillNode>(nodes_[node]) ? "fill" : "upload";
}

void Graph::set_parameter(size_t node, size_t index, uint32_t bits) {
  const std::string_view called = name(node);
  auto* const launch = std::get_if<LaunchNode>(&nodes_[node]);
  const size_t count = launch == nullptr ? 0 : launch->parameters.size();
  if (index >= count)
    fail(ErrorCode::invalid_argument, "graph: node {}, {}, has {} parameters, and no number {}", node, called, count, index);
  launch->parameters[index] = bits;
  captured_ = nullptr;
  replays_ = 0;
}

namespace {

void compile_together(const Device& device, const std::function<void()>& body) {
  if (auto* const runtime = dynamic_cast<KernelRuntime*>(&device.runtime())) runtime->compile_together(body);
}

// What buffers that are gone have left with us counts too: it is given back before memory runs out.
std::optional<size_t> free_bytes(const Device& device) {
  auto* const runtime = dynamic_cast<KernelRuntime*>(&device.runtime());
  const std::optional<size_t> free = runtime == nullptr ? std::nullopt : runtime->driver().free_bytes();
  if (!free) return std::nullopt;
  const AllocatorStatistics kept = runtime->allocator().statistics();
  return *free + (kept.reserved > kept.allocated ? kept.reserved - kept.allocated : 0);
}

}  // namespace

const GraphRecorder kGraphRecorder = {.record = &Graph::record,
                                      .replay = [](const Graph& graph) { graph.replay(); },
                                      .compile_together = &compile_together,
                                      .free_bytes = &free_bytes};

}  // namespace wick
