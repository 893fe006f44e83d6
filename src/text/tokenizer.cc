#include "text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "text/bpe.h"
#include "text/spm.h"
#include "text/wordpiece.h"

namespace minfer::text {

Result<std::unique_ptr<Tokenizer>> Tokenizer::create(VocabSpec spec) {
  std::unique_ptr<Tokenizer> tokenizer(new Tokenizer());
  MINFER_ASSIGN_OR_RETURN(tokenizer->vocab_, Vocab::create(std::move(spec)));
  const Vocab& vocab = *tokenizer->vocab_;
  tokenizer->warnings_.assign(vocab.warnings().begin(), vocab.warnings().end());
  switch (vocab.kind()) {
    case VocabKind::kNone:
      return tokenizer;
    case VocabKind::kByteBpe: {
      MINFER_ASSIGN_OR_RETURN(tokenizer->model_, ByteBpe::create(vocab, tokenizer->warnings_));
      break;
    }
    case VocabKind::kSpm:
      tokenizer->model_ = std::make_unique<Spm>(vocab);
      break;
    case VocabKind::kWordPiece:
      tokenizer->model_ = std::make_unique<WordPiece>(vocab);
      break;
  }
  tokenizer->specials_ = std::make_unique<SpecialMatcher>(vocab);
  return tokenizer;
}

Result<std::vector<std::int32_t>> Tokenizer::encode(std::string_view text,
                                                    EncodeOptions options) const {
  const TextSpan span{text, options.parse_special};
  return encode(std::span<const TextSpan>(&span, 1), options.add_special);
}

Result<std::vector<std::int32_t>> Tokenizer::encode(std::span<const TextSpan> spans,
                                                    bool add_special, bool at_text_start,
                                                    std::span<const std::int32_t> withheld) const {
  if (!has_text())
    return unsupported(
        fmt::format("the model has no tokenizer (tokenizer.ggml.model is \"{}\"): give token ids",
                    vocab_->model()));
  std::size_t n_bytes = 0;
  std::vector<SpecialZone> zones;
  zones.reserve(spans.size());
  for (const TextSpan& span : spans) {
    if (span.text.size() > kMaxTextBytes - n_bytes)
      return out_of_range(
          fmt::format("a text to tokenize may have at most {} bytes", kMaxTextBytes));
    n_bytes += span.text.size();
    zones.push_back({static_cast<std::uint32_t>(n_bytes), span.parse_special});
  }
  std::string joined;
  if (spans.size() != 1) {
    joined.reserve(n_bytes);
    for (const TextSpan& span : spans) joined.append(span.text);
  }
  std::vector<std::int32_t> ids =
      encode_zones(spans.size() == 1 ? spans[0].text : joined, zones, at_text_start, withheld);
  if (add_special) add_special_ids(ids);
  return ids;
}

std::vector<std::int32_t> Tokenizer::encode_zones(std::string_view text,
                                                  std::span<const SpecialZone> zones,
                                                  bool at_text_start,
                                                  std::span<const std::int32_t> withheld) const {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> plain;
  std::uint32_t begin = 0;
  const auto encode_up_to = [&](std::uint32_t end) {
    plain.clear();
    encode_plain(text.substr(begin, end - begin), at_text_start || begin > 0, plain);
    if (!withheld.empty()) break_up(withheld, plain);
    ids.insert(ids.end(), plain.begin(), plain.end());
  };
  for (const SpecialMatch& match : specials_->find(text, zones, withheld)) {
    encode_up_to(match.begin);
    ids.push_back(match.id);
    begin = match.end;
  }
  encode_up_to(static_cast<std::uint32_t>(text.size()));
  return ids;
}

// A stretch between special tokens; each such stretch gets the first blank anew.
void Tokenizer::encode_plain(std::string_view text, bool first_blank,
                             std::vector<std::int32_t>& ids) const {
  if (text.empty()) return;
  if (first_blank && vocab_->add_space_prefix()) {
    std::string prefixed(" ");
    prefixed.append(text);
    model_->encode(prefixed, ids);
  } else {
    model_->encode(text, ids);
  }
}

// Merges may come to a withheld piece without any matching.
void Tokenizer::break_up(std::span<const std::int32_t> withheld,
                         std::vector<std::int32_t>& ids) const {
  const auto is_withheld = [&](std::int32_t id) {
    return std::ranges::binary_search(withheld, id);
  };
  if (std::ranges::none_of(ids, is_withheld)) return;
  std::vector<std::int32_t> out;
  for (const std::int32_t id : ids) {
    if (!is_withheld(id)) {
      out.push_back(id);
      continue;
    }
    const std::string bytes = token_bytes(id);
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t n = decode_char(bytes, at).length;
      model_->encode(std::string_view(bytes).substr(at, n), out);
      at += n;
    }
  }
  ids = std::move(out);
}

std::vector<std::int32_t> Tokenizer::user_defined_in(std::string_view text) const {
  std::vector<std::int32_t> ids;
  if (!has_text()) return ids;
  const auto is_blank = [](std::string_view piece) {
    return piece.find_first_not_of(" \t\r\n") == std::string_view::npos;
  };
  for (std::int32_t id = 0; id < vocab_->size(); ++id) {
    if (vocab_->type(id) != TokenType::kUserDefined) continue;
    const std::string_view piece = vocab_->piece(id);
    if (is_blank(piece) || decode_char(piece, 0).length == piece.size()) continue;
    if (text.find(piece) != std::string_view::npos) ids.push_back(id);
  }
  return ids;
}

void Tokenizer::add_special_ids(std::vector<std::int32_t>& ids) const {
  const SpecialIds& special = vocab_->special();
  const bool word_piece = vocab_->kind() == VocabKind::kWordPiece;
  const std::int32_t first = word_piece ? special.cls : special.bos;
  const std::int32_t last = word_piece ? special.sep : special.eos;
  if (vocab_->add_bos() && first >= 0 && (ids.empty() || ids.front() != first))
    ids.insert(ids.begin(), first);
  if (vocab_->add_eos() && last >= 0 && (ids.empty() || ids.back() != last)) ids.push_back(last);
}

std::string Tokenizer::token_bytes(std::int32_t id) const {
  std::string out;
  if (!has_text() || !vocab_->contains(id)) return out;
  // Only ordinary pieces are encoded in the model's way; SentencePiece also writes the blanks of
  // user-defined ones as U+2581.
  const bool verbatim = is_hidden(id) || (vocab_->type(id) == TokenType::kUserDefined &&
                                          vocab_->kind() != VocabKind::kSpm);
  if (verbatim) {
    out = vocab_->piece(id);
  } else {
    model_->append_text(id, out);
  }
  return out;
}

bool Tokenizer::is_hidden(std::int32_t id) const {
  if (!vocab_->contains(id)) return true;
  const TokenType type = vocab_->type(id);
  return type == TokenType::kControl || type == TokenType::kUnknown || type == TokenType::kUnused;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool show_special) const {
  std::string out;
  TokenText text(*this, show_special, true);
  for (const std::int32_t id : ids) text.append(id, out);
  return out;
}

void TokenText::append(std::int32_t id, std::string& out) {
  const Vocab& vocab = tokenizer_.vocab();
  if (tokenizer_.is_hidden(id)) {
    if (show_special_) out.append(tokenizer_.token_bytes(id));
    strip_blank_ = true;
    return;
  }
  const std::string bytes = tokenizer_.token_bytes(id);
  const bool has_first_blank = vocab.add_space_prefix() || vocab.kind() == VocabKind::kWordPiece;
  const bool strip = strip_blank_ && has_first_blank && bytes.starts_with(' ');
  out.append(bytes, strip ? 1 : 0);
  // A user-defined piece with a blank of its own was merged out of a text, not matched before it.
  const bool matched_whole = vocab.type(id) == TokenType::kUserDefined &&
                             vocab.piece(id).find(Spm::kBlank) == std::string_view::npos;
  strip_blank_ = matched_whole || (strip_blank_ && bytes.empty());
}

}  // namespace minfer::text
