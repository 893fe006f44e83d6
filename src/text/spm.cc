#include "text/spm.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/symbol_list.h"
#include "text/unicode.h"

namespace minfer::text {
namespace {

struct Merge {
  float score;
  std::int32_t left;
  std::uint32_t length;
};

// For a heap with the next merge on top: the highest score, then the leftmost.
bool comes_later(const Merge& a, const Merge& b) {
  return a.score < b.score || (a.score == b.score && a.left > b.left);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The byte that a piece such as <0x0A> names, or -1.
int byte_of_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return -1;
  const int high = hex_digit(piece[3]);
  const int low = hex_digit(piece[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace

struct Spm::Scratch {
  SymbolList symbols;
  std::vector<Merge> heap;
};

Spm::Spm(const Vocab& vocab) : vocab_(vocab) {
  for (int byte = 0; byte < 256; ++byte)
    byte_ids_[static_cast<std::size_t>(byte)] = vocab.find(fmt::format("<0x{:02X}>", byte));
}

std::int32_t Spm::find_mergeable(std::string_view piece) const {
  const std::int32_t id = vocab_.find(piece);
  if (id < 0) return -1;
  const TokenType type = vocab_.type(id);
  const bool reserved =
      type == TokenType::kControl || type == TokenType::kUnknown || type == TokenType::kByte;
  return reserved ? -1 : id;
}

void Spm::encode(std::string_view text, std::vector<std::int32_t>& ids) const {
  std::string escaped;
  escaped.reserve(text.size() + 16);
  for (const char c : text) {
    if (c == ' ') {
      escaped.append(kBlank);
    } else {
      escaped.push_back(c);
    }
  }
  Scratch scratch;
  SymbolList& symbols = scratch.symbols;
  symbols.reset(escaped);
  for (std::size_t pos = 0; pos < escaped.size();) {
    const std::uint32_t length = decode_char(escaped, pos).length;
    symbols.append(length);
    pos += length;
  }
  for (std::int32_t i = 0; i + 1 < symbols.size(); ++i) push_merge(scratch, i);
  std::vector<Merge>& heap = scratch.heap;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), comes_later);
    const Merge merge = heap.back();
    heap.pop_back();
    if (!symbols.is_pair(merge.left, merge.length)) continue;
    symbols.merge(merge.left);
    if (symbols[merge.left].previous >= 0) push_merge(scratch, symbols[merge.left].previous);
    if (symbols[merge.left].next >= 0) push_merge(scratch, merge.left);
  }
  for (std::int32_t i = 0; i >= 0 && i < symbols.size(); i = symbols[i].next) {
    const std::int32_t id = find_mergeable(symbols.text_of(i));
    if (id >= 0) {
      ids.push_back(id);
    } else {
      append_bytes(symbols.text_of(i), ids);
    }
  }
}

void Spm::push_merge(Scratch& scratch, std::int32_t left) const {
  const std::string_view pair = scratch.symbols.text_of_pair(left);
  const std::int32_t id = find_mergeable(pair);
  if (id < 0) return;
  scratch.heap.push_back({vocab_.score(id), left, static_cast<std::uint32_t>(pair.size())});
  std::push_heap(scratch.heap.begin(), scratch.heap.end(), comes_later);
}

void Spm::append_bytes(std::string_view bytes, std::vector<std::int32_t>& ids) const {
  for (const char c : bytes) {
    const std::int32_t id = byte_ids_[static_cast<unsigned char>(c)];
    if (id >= 0) {
      ids.push_back(id);
    } else if (vocab_.special().unk >= 0) {
      ids.push_back(vocab_.special().unk);
      return;
    }
  }
}

void Spm::append_text(std::int32_t id, std::string& out) const {
  const std::string_view piece = vocab_.piece(id);
  if (vocab_.type(id) == TokenType::kByte) {
    if (const int byte = byte_of_piece(piece); byte >= 0) {
      out.push_back(static_cast<char>(byte));
      return;
    }
  }
  for (std::size_t pos = 0; pos < piece.size();) {
    if (piece.substr(pos).starts_with(kBlank)) {
      out.push_back(' ');
      pos += kBlank.size();
    } else {
      out.push_back(piece[pos++]);
    }
  }
}

}  // namespace minfer::text
