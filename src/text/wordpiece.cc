#include "text/wordpiece.h"

#include <algorithm>

#include "text/unicode.h"

namespace minfer::text {
namespace {

constexpr std::string_view kWordStart = "\xe2\x96\x81";  // U+2581

bool is_cjk(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

// Whether BERT makes the character a word of its own.
bool stands_alone(char32_t c, std::uint16_t classes) {
  return (classes & kPunctuation) != 0 || (c < 0x80 && (classes & kSymbol) != 0) || is_cjk(c);
}

}  // namespace

WordPiece::WordPiece(const Vocab& vocab) : vocab_(vocab) {
  for (const std::string_view piece : vocab.pieces())
    if (piece.size() <= kMaxPiece) longest_ = std::max(longest_, piece.size());
}

void WordPiece::encode(std::string_view text, std::vector<std::int32_t>& ids) const {
  std::string word(kWordStart);
  const auto finish_word = [&] {
    if (word.size() > kWordStart.size()) encode_word(word, ids);
    word.assign(kWordStart);
  };
  for (std::size_t pos = 0; pos < text.size();) {
    const Char c = decode_char(text, pos);
    pos += c.length;
    if (!c.well_formed) continue;
    const char32_t base = base_of(c.code);
    const std::uint16_t classes = classify(base);
    if ((classes & kSpace) != 0) {
      finish_word();
      continue;
    }
    if (base == 0 || base == kReplacement || (classes & (kControl | kMark)) != 0) continue;
    const char32_t lower = to_lower(base);
    if (stands_alone(base, classes)) {
      finish_word();
      append_utf8(word, lower);
      finish_word();
    } else {
      append_utf8(word, lower);
    }
  }
  finish_word();
}

void WordPiece::encode_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  const std::size_t n_before = ids.size();
  for (std::size_t pos = 0; pos < word.size();) {
    std::size_t length = std::min(longest_, word.size() - pos);
    std::int32_t id = -1;
    for (; length > 0; --length) {
      id = vocab_.find(word.substr(pos, length));
      if (id >= 0) break;
    }
    if (id < 0) {
      ids.resize(n_before);
      ids.push_back(vocab_.special().unk);
      return;
    }
    ids.push_back(id);
    pos += length;
  }
}

void WordPiece::append_text(std::int32_t id, std::string& out) const {
  const std::string_view piece = vocab_.piece(id);
  if (piece.starts_with(kWordStart)) {
    out.push_back(' ');
    out.append(piece.substr(kWordStart.size()));
  } else {
    out.append(piece);
  }
}

}  // namespace minfer::text
