// phases: what minfer does in an answer, each step a function that callgrind tells apart
// (scripts/instruction_counts.py).
//
//   phases write MODEL.gguf ARCH TYPE      a model large enough to matter, small enough to count
//   phases run MODEL.gguf                  MINFER_ISA forces an instruction set; one thread
//   phases compiler                        what the counts depend on beside the source
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cpu/cpu_backend.h"
#include "engine/engine.h"
#include "engine/session.h"
#include "quant/codec.h"
#include "sampling/sampler.h"
#include "tests/support/tiny_model.h"

// By these names the script finds them; each is called once.
#define MINFER_PHASE extern "C" [[gnu::noinline]]

namespace minfer::tests {
namespace {

constexpr std::int32_t kPrompt = 48;
constexpr std::int32_t kSteps = 16;
constexpr std::size_t kDraws = 8;
constexpr std::size_t kVocab = 32000;

/// The value, or the end of the program with the error's line.
template <class T>
T take(Result<T> result) {
  if (result.ok()) return std::move(*result);
  fmt::print(stderr, "phases: {}\n", result.status().message());
  std::exit(1);
}

void expect(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "phases: {}\n", status.message());
  std::exit(1);
}

std::vector<engine::TokenId> some_ids(std::int32_t n) {
  std::vector<engine::TokenId> ids;
  for (std::int32_t i = 0; i < n; ++i) ids.push_back((i * 37 + 11) % kTinyVocab);
  return ids;
}

std::string some_text() {
  constexpr std::string_view kWords[] = {"the ", "morning", " sea 12", ", naïve", "\n  if (x", "e"};
  std::string text;
  for (std::size_t i = 0; text.size() < 16384; ++i) text += kWords[i * i % 41 % std::size(kWords)];
  return text;
}

std::vector<float> some_logits() {
  std::vector<float> logits(kVocab);
  std::uint32_t state = 1;
  for (float& logit : logits) {
    state = state * 1664525U + 1013904223U;
    logit = static_cast<float>(state >> 8) * 0x1p-20F;  // 0..16
  }
  return logits;
}

}  // namespace

MINFER_PHASE engine::Engine* phase_load(const std::string& path) {
  const char* isa = std::getenv("MINFER_ISA");
  cpu::CpuOptions options;
  options.isa = take(cpu::choose_isa(isa != nullptr ? isa : ""));
  engine::BackendList backends;
  backends.push_back(take(cpu::make_cpu_backend(options)));
  return take(engine::Engine::create(take(model::Model::load(path, {})), std::move(backends)))
      .release();
}

MINFER_PHASE std::size_t phase_tokenize(const text::Tokenizer& tokenizer, const std::string& text) {
  return take(tokenizer.encode(text)).size();
}

MINFER_PHASE void phase_build_graph(engine::Session& session) {
  take(session.forward().compiled(kPrompt, 1));
}

MINFER_PHASE void phase_prefill(engine::Session& session, std::span<const engine::TokenId> ids) {
  expect(session.advance(ids).status());
}

MINFER_PHASE void phase_decode(engine::Session& session, std::span<const engine::TokenId> ids) {
  for (const engine::TokenId id : ids) expect(session.advance({&id, 1}).status());
}

MINFER_PHASE void phase_sampling(sampling::Sampler& sampler, std::span<const float> logits) {
  for (std::size_t i = 0; i < kDraws; ++i) {
    expect(sampler.accept(take(sampler.sample(logits, static_cast<std::int64_t>(i), {}))));
  }
}

namespace {

void run(const std::string& path) {
  const std::unique_ptr<engine::Engine> engine(phase_load(path));
  const std::string text = some_text();
  phase_tokenize(*engine->model().tokenizer(), text);

  engine::SessionOptions options;
  options.n_ctx = 256;
  const auto session = take(engine::Session::create(*engine, options));
  const std::vector<engine::TokenId> prompt = some_ids(kPrompt);
  phase_build_graph(*session);
  phase_prefill(*session, prompt);
  take(session->forward().compiled(1, 1));
  phase_decode(*session, some_ids(kSteps));

  sampling::SamplerOptions sampling;
  sampling.repeat_penalty = 1.1F;
  auto sampler = take(sampling::Sampler::create(sampling, kVocab, {}));
  phase_sampling(sampler, some_logits());
}

void write(const std::string& path, std::string_view arch, std::string_view type) {
  TinyModelSpec spec;
  spec.arch = arch;
  for (const quant::Codec& codec : quant::all_codecs()) {
    if (dtype_name(codec.dtype) == type) spec.dtype = codec.dtype;
  }
  spec.n_embd = 256;
  spec.n_head = 4;
  spec.n_head_kv = 2;
  spec.head_dim = 64;
  spec.n_ff = 768;
  expect(write_tiny_model(spec, path));
}

std::string compiler() {
#if defined(__clang__)
  std::string text = fmt::format("clang {}.{}", __clang_major__, __clang_minor__);
#else
  std::string text = fmt::format("gcc {}.{}", __GNUC__, __GNUC_MINOR__);
#endif
#if !defined(__OPTIMIZE__) || defined(MINFER_DEBUG)
  text += " debug";
#endif
#if defined(__x86_64__)
  return text + " x86-64";
#else
  return text + " other";
#endif
}

}  // namespace
}  // namespace minfer::tests

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "write" && argc == 5) {
    minfer::tests::write(argv[2], argv[3], argv[4]);
  } else if (mode == "run" && argc == 3) {
    minfer::tests::run(argv[2]);
  } else if (mode == "compiler") {
    fmt::print("{}\n", minfer::tests::compiler());
  } else {
    fmt::print(stderr, "usage: phases write MODEL ARCH TYPE | run MODEL | compiler\n");
    return 2;
  }
  return 0;
}
