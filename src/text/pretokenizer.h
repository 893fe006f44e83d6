// Pre-tokenizer: cuts text into the words inside which byte-level BPE may merge.
//
// Each pre-tokenizer is a row of pretokenizers.def: a list of passes. A pass cuts every word that
// the passes before it made, into the stretches that match its pattern and those between them; it
// never looks past a word's ends.
// Invariants: words are not empty, in order, and together are the text; every pass is linear in the
// text, uses no recursion and no memory but its output. Bytes that are not UTF-8 belong to no
// character class.
// Thread-safety: pure functions over constant tables.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/unicode.h"

namespace minfer::text {

struct CodeRange {
  char32_t first;
  char32_t last;
};

/// A set of characters: those of any class in `classes`, and those in `ranges` (ascending).
struct CharSet {
  std::uint16_t classes = 0;
  std::span<const CodeRange> ranges{};

  [[nodiscard]] bool contains(const Char& c) const;
};

enum class PassKind : std::uint8_t {
  /// `[set]{min,max}`, with `\s?` before it where `leading_space`.
  kRun,
  /// `\s+$`
  kTrailingSpace,
  /// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
  kWordsGpt2,
  /// `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?W+|\p{N}{1,max}| ?[^\sW\p{N}]+[\r\n]*`
  /// `|\s*[\r\n]+|\s+(?!\S)|\s+` where W is the set (\p{L}, or [\p{L}\p{M}]).
  kWordsCl100k,
};

struct Pass {
  PassKind kind = PassKind::kRun;
  CharSet set{};
  std::uint32_t min = 1;
  std::uint32_t max = 0xFFFFFFFF;
  bool leading_space = false;
};

struct PreTokenizerRow {
  std::string_view name;  // tokenizer.ggml.pre
  bool add_bos;           // where the file has no tokenizer.ggml.add_bos_token
  bool whole_words;       // a word that is a piece is that token, whatever the merges say
  std::span<const Pass> passes;
};

/// The row called `name`, or null.
const PreTokenizerRow* find_pretokenizer(std::string_view name);

/// All rows, in the order of the table.
std::span<const PreTokenizerRow> pretokenizers();

/// The ends of the words of `text`, ascending, the last one text.size(); nothing for an empty text.
/// text.size() < 2^32. `ends` is overwritten.
void split_words(const PreTokenizerRow& row, std::string_view text,
                 std::vector<std::uint32_t>& ends);

}  // namespace minfer::text
