// char-transformer: trains a small transformer on the bytes of a text, and writes a text of its own.
#include <wick/wick.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace wick;

namespace {

constexpr const char* kUsage =
    "usage: char-transformer TEXT [--steps N] [--seed N] [--learning-rate X] [--length N] [--bf16] [--initial FILE] [--save FILE] "
    "[--at-most X]\n"
    "  TEXT      a file of any language; the net learns it byte by byte\n"
    "  --length  how many bytes are written at the end\n"
    "  --bf16    weights and arithmetic in bf16, with the optimizer's weights in f32\n"
    "  --initial starts with the weights of a safetensors file; --save writes them after the last step\n"
    "  --at-most exits with 1 if the mean loss of the last ten steps is larger\n";

struct Options {
  std::string text, initial, save;
  int64_t steps = 300, seed = 1, length = 200;
  double learning_rate = 3e-3, at_most = 1e6;
  DType dtype = DType::f32;
};

constexpr int64_t kContext = 64;  // tokens that a prediction sees
constexpr int64_t kBatch = 16;
constexpr int64_t kWidth = 64;
constexpr int64_t kHeads = 4;
constexpr int64_t kLayers = 2;

// The bytes that a text has are the tokens, in ascending order.
struct Vocabulary {
  std::vector<unsigned char> bytes;
  std::array<uint32_t, 256> ids{};

  explicit Vocabulary(const std::string& text) {
    std::array<bool, 256> there{};
    for (const char c : text) there[static_cast<unsigned char>(c)] = true;
    for (size_t byte = 0; byte < there.size(); ++byte) {
      if (!there[byte]) continue;
      ids[byte] = static_cast<uint32_t>(bytes.size());
      bytes.push_back(static_cast<unsigned char>(byte));
    }
  }
  [[nodiscard]] std::vector<uint32_t> encode(const std::string& text) const {
    std::vector<uint32_t> tokens;
    for (const char c : text) tokens.push_back(ids[static_cast<unsigned char>(c)]);
    return tokens;
  }
};

// x + attention(norm(x)), and x + feed-forward(norm(x)) of that.
class Block final : public nn::Module {
 public:
  explicit Block(const nn::LayerOptions& options)
      : norm1_(kWidth, {}, options),
        qkv_(kWidth, 3 * kWidth, options),
        out_(kWidth, kWidth, options),
        norm2_(kWidth, {}, options),
        up_(kWidth, 4 * kWidth, options),
        down_(4 * kWidth, kWidth, options) {}

  [[nodiscard]] Tensor forward(const Tensor& x) const override {
    const Tensor y = x + attention(norm1_.forward(x));
    return y + down_.forward(up_.forward(norm2_.forward(y)).gelu_erf());
  }
  void visit_tensors(const nn::TensorVisitor& visit) const override {
    nn::visit_inner(visit, "norm1", norm1_);
    nn::visit_inner(visit, "qkv", qkv_);
    nn::visit_inner(visit, "out", out_);
    nn::visit_inner(visit, "norm2", norm2_);
    nn::visit_inner(visit, "up", up_);
    nn::visit_inner(visit, "down", down_);
  }

 private:
  // [batch, tokens, width], each token seeing itself and those before it.
  [[nodiscard]] Tensor attention(const Tensor& x) const {
    const int64_t batch = x.dim(0), tokens = x.dim(1);
    const Tensor parts = qkv_.forward(x).reshape({batch, tokens, 3, kHeads, kWidth / kHeads});
    const auto part = [&](int64_t number) { return parts.narrow(2, number, 1).squeeze(2).transpose(1, 2); };
    const Tensor mixed = nn::scaled_dot_product_attention(part(0), part(1), part(2), {.causal = true});
    return out_.forward(mixed.transpose(1, 2).reshape({batch, tokens, kWidth}));
  }

  nn::LayerNorm norm1_;
  nn::Linear qkv_, out_;
  nn::LayerNorm norm2_;
  nn::Linear up_, down_;
};

// Tokens [batch, n] to logits [batch, n, vocabulary].
class Net final : public nn::Module {
 public:
  Net(int64_t vocabulary, const nn::LayerOptions& options)
      : tokens_(vocabulary, kWidth, options),
        positions_(kContext, kWidth, options),
        norm_(kWidth, {}, options),
        head_(kWidth, vocabulary, options) {
    for (int64_t layer = 0; layer < kLayers; ++layer) blocks_.add(Block(options));
  }

  [[nodiscard]] Tensor forward(const Tensor& ids) const override {
    const Tensor places = Tensor::arange(0, static_cast<double>(ids.dim(1)), DType::u32, ids.device());
    return head_.forward(norm_.forward(blocks_.forward(tokens_.forward(ids) + positions_.forward(places))));
  }
  void visit_tensors(const nn::TensorVisitor& visit) const override {
    nn::visit_inner(visit, "tokens", tokens_);
    nn::visit_inner(visit, "positions", positions_);
    nn::visit_inner(visit, "blocks", blocks_);
    nn::visit_inner(visit, "norm", norm_);
    nn::visit_inner(visit, "head", head_);
  }

 private:
  nn::Embedding tokens_, positions_;
  nn::Sequential blocks_;
  nn::LayerNorm norm_;
  nn::Linear head_;
};

// Piece `row` of a step's batch starts here: pieces far from each other, the same in every run.
int64_t start_of(int64_t step, int64_t row, int64_t pieces) { return (step * kBatch + row) * 7919 % pieces; }

double step(const Net& net, nn::AdamW& optimizer, const std::vector<uint32_t>& tokens, int64_t number) {
  const auto pieces = static_cast<int64_t>(tokens.size()) - kContext;
  std::vector<uint32_t> seen, next;
  for (int64_t row = 0; row < kBatch; ++row) {
    const auto first = tokens.begin() + start_of(number, row, pieces);
    seen.insert(seen.end(), first, first + kContext);
    next.insert(next.end(), first + 1, first + kContext + 1);
  }
  const Tensor logits = net.forward(Tensor::from_vector(seen, {kBatch, kContext})).to_dtype(DType::f32);
  const Tensor loss = nn::cross_entropy(logits.reshape({kBatch * kContext, logits.dim(2)}), Tensor::from_vector(next, {kBatch * kContext}));
  optimizer.backward_step(loss);
  return loss.item();
}

// The tokens that follow, each drawn by its probability.
std::vector<uint32_t> write(const Net& net, std::vector<uint32_t> tokens, int64_t length) {
  const NoGradScope no_grad;
  for (int64_t i = 0; i < length; ++i) {
    const size_t count = std::min(tokens.size(), static_cast<size_t>(kContext));
    const std::vector<uint32_t> last(tokens.end() - static_cast<std::ptrdiff_t>(count), tokens.end());
    const Tensor logits = net.forward(Tensor::from_vector(last, {1, static_cast<int64_t>(count)})).to_dtype(DType::f32);
    const std::vector<float> chances = logits.narrow(1, static_cast<int64_t>(count) - 1, 1).flatten_all().softmax(0).to_vector<float>();
    float left = Tensor::rand(0, 1, {1}).to_vector<float>().front();
    uint32_t drawn = 0;
    while (drawn + 1 < chances.size() && (left -= chances[drawn]) > 0) ++drawn;
    tokens.push_back(drawn);
  }
  return tokens;
}

int run(const Options& options) {
  std::ifstream file(options.text, std::ios::binary);
  if (!file) throw std::runtime_error(options.text + " cannot be opened");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.size() < 2 * kContext)
    throw std::runtime_error(options.text + ": a text of at least " + std::to_string(2 * kContext) + " bytes is needed");
  const Vocabulary vocabulary(text);
  const std::vector<uint32_t> tokens = vocabulary.encode(text);

  manual_seed(static_cast<uint64_t>(options.seed));
  const Net net(static_cast<int64_t>(vocabulary.bytes.size()), {.dtype = options.dtype});
  if (!options.initial.empty()) net.load_state_dict(load_safetensors(options.initial));
  nn::AdamW optimizer(net.parameters(), options.learning_rate);
  optimizer.keep_master_weights();

  std::printf("%zu bytes, %zu of them different\n", text.size(), vocabulary.bytes.size());
  double last = 0;
  for (int64_t number = 0; number < options.steps; ++number) {
    const double loss = step(net, optimizer, tokens, number);
    if (number >= options.steps - 10) last += loss / static_cast<double>(std::min<int64_t>(options.steps, 10));
    if (number % 50 == 0) std::printf("step %4ld: loss %.4f\n", static_cast<long>(number), loss), std::fflush(stdout);
  }
  std::printf("mean loss of the last ten steps: %.5f\n", last);
  if (!options.save.empty()) save_safetensors(net.state_dict(), options.save);
  if (options.length > 0) {
    for (const uint32_t token : write(net, {tokens.front()}, options.length)) std::putchar(vocabulary.bytes[token]);
    std::putchar('\n');
  }
  return last <= options.at_most ? 0 : 1;
}

Options read(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--bf16") {
      options.dtype = DType::bf16;
    } else if (name.substr(0, 2) != "--" && options.text.empty()) {
      options.text = name;
    } else {
      if (i + 1 == argc) throw std::invalid_argument(std::string(name));
      const char* const value = argv[++i];
      if (name == "--steps")
        options.steps = std::stol(value);
      else if (name == "--seed")
        options.seed = std::stol(value);
      else if (name == "--length")
        options.length = std::stol(value);
      else if (name == "--learning-rate")
        options.learning_rate = std::stod(value);
      else if (name == "--at-most")
        options.at_most = std::stod(value);
      else if (name == "--initial")
        options.initial = value;
      else if (name == "--save")
        options.save = value;
      else
        throw std::invalid_argument(std::string(name));
    }
  }
  if (options.text.empty()) throw std::invalid_argument("TEXT");
  return options;
}

}  // namespace

int main(int argc, char** argv) try { return run(read(argc, argv)); } catch (const std::invalid_argument& error) {
  std::fprintf(stderr, "%s: missing, unknown or without its value\n%s", error.what(), kUsage);
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 2;
}
