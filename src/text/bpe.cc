#include "text/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "text/byte_level.h"
#include "text/pretokenizer.h"
#include "text/symbol_list.h"

namespace minfer::text {
namespace {

// Ordered by rank, then position: the pair to merge next is the smallest.
struct Merge {
  std::uint64_t rank_and_left;
  std::uint32_t length;

  [[nodiscard]] std::int32_t left() const {
    return static_cast<std::int32_t>(rank_and_left & 0xFFFFFFFF);
  }
  friend bool operator>(const Merge& a, const Merge& b) {
    return a.rank_and_left > b.rank_and_left;
  }
};

}  // namespace

struct ByteBpe::Scratch {
  SymbolList symbols;
  std::vector<Merge> heap;
};

Result<std::unique_ptr<ByteBpe>> ByteBpe::create(const Vocab& vocab,
                                                 std::vector<std::string>& warnings) {
  auto merges = MergeTable::build(vocab.merges(), vocab.index());
  if (!merges.ok()) return merges.status().with_context("[tokenizer] tokenizer.ggml.merges");
  if (merges->n_unknown_result() > 0)
    warnings.push_back(
        fmt::format("{} merges make no known token, the first is merge {}; they are left out",
                    merges->n_unknown_result(), merges->first_unknown_result()));
  return std::unique_ptr<ByteBpe>(new ByteBpe(vocab, std::move(merges).value()));
}

ByteBpe::ByteBpe(const Vocab& vocab, MergeTable merges)
    : vocab_(vocab), merges_(std::move(merges)) {}

void ByteBpe::encode(std::string_view text, std::vector<std::int32_t>& ids) const {
  std::vector<std::uint32_t> ends;
  split_words(*vocab_.pretokenizer(), text, ends);
  Scratch scratch;
  std::string word;
  std::uint32_t begin = 0;
  for (const std::uint32_t end : ends) {
    word.clear();
    append_byte_level(word, text.substr(begin, end - begin));
    encode_word(word, scratch, ids);
    begin = end;
  }
}

void ByteBpe::encode_word(std::string_view word, Scratch& scratch,
                          std::vector<std::int32_t>& ids) const {
  if (vocab_.pretokenizer()->whole_words) {
    const std::int32_t id = vocab_.find(word);
    if (id >= 0 && !vocab_.is_control(id)) {
      ids.push_back(id);
      return;
    }
  }
  SymbolList& symbols = scratch.symbols;
  symbols.reset(word);
  for (std::size_t pos = 0; pos < word.size();) {
    const std::uint32_t length = static_cast<unsigned char>(word[pos]) < 0x80 ? 1 : 2;
    symbols.append(length);
    pos += length;
  }
  for (std::int32_t i = 0; i + 1 < symbols.size(); ++i) push_merge(scratch, i);
  std::vector<Merge>& heap = scratch.heap;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const Merge merge = heap.back();
    heap.pop_back();
    const std::int32_t left = merge.left();
    if (!symbols.is_pair(left, merge.length)) continue;
    symbols.merge(left);
    if (symbols[left].previous >= 0) push_merge(scratch, symbols[left].previous);
    if (symbols[left].next >= 0) push_merge(scratch, left);
  }
  for (std::int32_t i = 0; i >= 0 && i < symbols.size(); i = symbols[i].next) {
    const std::int32_t id = vocab_.find(symbols.text_of(i));
    if (id >= 0) ids.push_back(id);
  }
}

void ByteBpe::push_merge(Scratch& scratch, std::int32_t left) const {
  const std::string_view pair = scratch.symbols.text_of_pair(left);
  const std::uint32_t rank = merges_.find(pair, scratch.symbols[left].length);
  if (rank == MergeTable::kNoMerge) return;
  scratch.heap.push_back(
      {(static_cast<std::uint64_t>(rank) << 32) | static_cast<std::uint32_t>(left),
       static_cast<std::uint32_t>(pair.size())});
  std::push_heap(scratch.heap.begin(), scratch.heap.end(), std::greater<>());
}

void ByteBpe::append_text(std::int32_t id, std::string& out) const {
  append_bytes_of_piece(out, vocab_.piece(id));
}

}  // namespace minfer::text
