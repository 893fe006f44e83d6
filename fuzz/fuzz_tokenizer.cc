// The tokenizers under hostile vocabularies and texts.
//
// The input describes a vocabulary (kind, pieces with types and scores, merges, special ids) and
// then a text. Whatever it is, creation answers with a Status, and where it succeeds: encoding does
// not crash; ids lie inside the vocabulary; streamed text is UTF-8 and equals the whole; text that
// may not spell control tokens never does.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/pretokenizer.h"
#include "text/stream_detokenizer.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace {

using minfer::text::Tokenizer;
using minfer::text::TokenType;
using minfer::text::VocabSpec;

void require(bool holds) {
  if (!holds) std::abort();
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  std::string_view bytes(std::size_t n) {
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view all() { return bytes(rest_.size()); }

 private:
  std::string_view rest_;
};

struct Described {
  VocabSpec spec;
  std::deque<std::string> kept;

  std::string_view keep(std::string text) { return kept.emplace_back(std::move(text)); }
};

void describe(Input& in, Described& out) {
  constexpr std::string_view kModels[] = {"gpt2", "llama", "bert", "test"};
  VocabSpec& spec = out.spec;
  const std::uint8_t flags = in.byte();
  spec.model = kModels[flags & 3];
  const auto rows = minfer::text::pretokenizers();
  if (spec.model == "gpt2") spec.pre = rows[in.byte() % rows.size()].name;
  spec.add_bos = (flags & 4) != 0;
  spec.add_eos = (flags & 8) != 0;
  spec.add_space_prefix = (flags & 16) != 0;
  spec.pieces.emplace();
  spec.types.emplace();
  spec.scores.emplace();
  spec.merges.emplace();
  const auto add = [&](std::string piece, std::int32_t type, float score) {
    spec.pieces->push_back(out.keep(std::move(piece)));
    spec.types->push_back(type);
    spec.scores->push_back(score);
  };
  if ((flags & 32) != 0)
    for (int b = 0; b < 256; ++b)
      add(std::string(minfer::text::byte_to_piece(static_cast<unsigned char>(b))), 1, 0);
  for (std::size_t n = in.byte() % 40; n > 0; --n) {
    const std::uint8_t shape = in.byte();
    std::string piece(in.bytes(shape & 7));
    if ((shape & 8) != 0 && !spec.pieces->empty()) {
      const std::string other(spec.pieces->at(in.byte() % spec.pieces->size()));
      spec.merges->push_back(out.keep(other + " " + piece));
      piece = other + piece;
    }
    add(std::move(piece), shape >> 4 & 7, static_cast<float>(in.byte()) - 128.0F);
  }
  for (auto field :
       {&VocabSpec::bos, &VocabSpec::eos, &VocabSpec::unk, &VocabSpec::cls, &VocabSpec::sep})
    if (const std::uint8_t id = in.byte(); id != 255) spec.*field = id;
}

void check(const Tokenizer& tokenizer, std::string_view text) {
  const bool parse_special = !text.empty() && (text[0] & 1) != 0;
  const auto ids = tokenizer.encode(text, {parse_special, true});
  if (!ids.ok()) return;
  const std::size_t n_outer = 2;  // BOS and EOS, which the vocabulary itself adds
  std::size_t n_control = 0;
  for (const std::int32_t id : *ids) {
    require(tokenizer.vocab().contains(id));
    n_control += tokenizer.vocab().is_control(id) && id != tokenizer.vocab().special().unk;
  }
  // WordPiece knows no byte fallback and takes any piece for text.
  if (!parse_special && tokenizer.vocab().kind() == minfer::text::VocabKind::kSpm)
    require(n_control <= n_outer);
  minfer::text::StreamDetokenizer stream(tokenizer, {.show_special = true});
  std::string streamed;
  for (const std::int32_t id : *ids) {
    const std::string part = stream.push(id);
    require(minfer::is_valid_utf8(part));
    streamed += part;
  }
  streamed += stream.finish();
  require(streamed == minfer::replace_invalid_utf8(tokenizer.decode(*ids, true)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  Described described;
  describe(in, described);
  const auto tokenizer = Tokenizer::create(described.spec);
  if (tokenizer.ok()) check(*tokenizer.value(), in.all());
  return 0;
}
