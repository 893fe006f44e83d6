#include "text/word_split.h"

#include <cstddef>

namespace minfer::text {
namespace {

constexpr std::uint16_t kWordNumberSpace = kLetter | kNumber | kSpace;

std::uint16_t classes_of(const Char& c) {
  return c.well_formed ? classify(c.code) : std::uint16_t{0};
}

// A word under inspection. Positions past the end read as a character of length 0 that is in no
// class, so that patterns need no bounds checks of their own.
class Word {
 public:
  explicit Word(std::string_view text) : text_(text) {}

  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] bool at_end(std::size_t pos) const { return pos >= text_.size(); }
  [[nodiscard]] Char at(std::size_t pos) const {
    return at_end(pos) ? Char{0, 0, false} : decode_char(text_, pos);
  }
  [[nodiscard]] char byte(std::size_t pos) const { return at_end(pos) ? '\0' : text_[pos]; }

  // The end of the run of characters from `pos` that have a class of `mask` (or none, if inverted).
  [[nodiscard]] std::size_t run_end(std::size_t pos, std::uint16_t mask, bool inverted) const {
    while (!at_end(pos)) {
      const Char c = decode_char(text_, pos);
      if (((classes_of(c) & mask) != 0) == inverted) break;
      pos += c.length;
    }
    return pos;
  }
  [[nodiscard]] std::size_t in(std::size_t pos, std::uint16_t mask) const {
    return run_end(pos, mask, false);
  }
  [[nodiscard]] std::size_t not_in(std::size_t pos, std::uint16_t mask) const {
    return run_end(pos, mask, true);
  }

 private:
  std::string_view text_;
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// 's|'t|'re|'ve|'m|'ll|'d: the end of the match at `pos`, or `pos`.
std::size_t contraction_end(const Word& word, std::size_t pos, bool ignore_case) {
  if (word.byte(pos) != '\'') return pos;
  const auto letter = [&](std::size_t at) {
    return ignore_case ? lower(word.byte(at)) : word.byte(at);
  };
  const char a = letter(pos + 1);
  const char b = letter(pos + 2);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return pos + 2;
  if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return pos + 3;
  return pos;
}

// \s+(?!\S)|\s+: the whole run at the end of the word, else all but its last character, else that
// one character.
std::size_t blanks_end(const Word& word, std::size_t pos, std::size_t run_end,
                       std::size_t last_begin) {
  if (word.at_end(run_end) || last_begin == pos) return run_end;
  return last_begin;
}

std::size_t gpt2_end(const Word& word, std::size_t pos) {
  if (const std::size_t end = contraction_end(word, pos, false); end > pos) return end;
  const std::size_t start = pos + (word.byte(pos) == ' ' ? 1 : 0);
  if (!word.at_end(start)) {
    const std::uint16_t classes = classes_of(word.at(start));
    if ((classes & kLetter) != 0) return word.in(start, kLetter);
    if ((classes & kNumber) != 0) return word.in(start, kNumber);
    if ((classes & kSpace) == 0) return word.not_in(start, kWordNumberSpace);
  }
  std::size_t end = pos;
  std::size_t last = pos;
  for (Char c = word.at(end); (classes_of(c) & kSpace) != 0; c = word.at(end)) {
    last = end;
    end += c.length;
  }
  return blanks_end(word, pos, end, last);
}

// \s*[\r\n]+|\s+(?!\S)|\s+ at a white space character.
std::size_t cl100k_space_end(const Word& word, std::size_t pos) {
  std::size_t end = pos;
  std::size_t last = pos;
  std::size_t after_line_break = pos;
  for (Char c = word.at(end); (classes_of(c) & kSpace) != 0; c = word.at(end)) {
    last = end;
    end += c.length;
    if (c.code == '\r' || c.code == '\n') after_line_break = end;
  }
  if (after_line_break > pos) return after_line_break;
  return blanks_end(word, pos, end, last);
}

std::size_t cl100k_end(const Word& word, const Pass& pass, std::size_t pos) {
  const std::uint16_t letters = pass.set.classes;
  if (const std::size_t end = contraction_end(word, pos, true); end > pos) return end;
  const Char first = word.at(pos);
  const std::uint16_t classes = classes_of(first);
  const bool line_break = first.code == '\r' || first.code == '\n';

  // [^\r\n\p{L}\p{N}]?W+
  if (!line_break && (classes & (kLetter | kNumber)) == 0) {
    const std::size_t next = pos + first.length;
    if ((classes_of(word.at(next)) & letters) != 0) return word.in(next, letters);
  }
  if ((classes & letters) != 0) return word.in(pos, letters);

  if ((classes & kNumber) != 0) {
    std::size_t end = pos;
    for (std::uint32_t n = 0; n < pass.max; ++n) {
      const Char c = word.at(end);
      if ((classes_of(c) & kNumber) == 0) break;
      end += c.length;
    }
    return end;
  }

  //  ?[^\sW\p{N}]+[\r\n]*
  const std::uint16_t taken = static_cast<std::uint16_t>(letters | kNumber | kSpace);
  const std::size_t start = pos + (word.byte(pos) == ' ' ? 1 : 0);
  if (!word.at_end(start) && (classes_of(word.at(start)) & taken) == 0) {
    std::size_t end = word.not_in(start, taken);
    while (word.byte(end) == '\r' || word.byte(end) == '\n') ++end;
    return end;
  }
  return cl100k_space_end(word, pos);
}

class Cutter {
 public:
  Cutter(std::uint32_t offset, std::vector<std::uint32_t>& ends) : offset_(offset), ends_(ends) {}

  // Ends a part at `pos`, unless it would be empty.
  void cut(std::size_t pos) {
    if (pos == last_) return;
    ends_.push_back(offset_ + static_cast<std::uint32_t>(pos));
    last_ = pos;
  }

 private:
  std::uint32_t offset_;
  std::vector<std::uint32_t>& ends_;
  std::size_t last_ = 0;
};

// The end of up to `max` characters of the set from `pos`, or `pos` if there are fewer than `min`.
std::size_t set_run_end(const Word& word, const Pass& pass, std::size_t pos) {
  std::size_t end = pos;
  std::uint32_t n = 0;
  while (n < pass.max) {
    const Char c = word.at(end);
    if (!pass.set.contains(c)) break;
    end += c.length;
    ++n;
  }
  return n >= pass.min ? end : pos;
}

void split_runs(const Word& word, const Pass& pass, Cutter& cutter) {
  for (std::size_t pos = 0; !word.at_end(pos);) {
    const Char c = word.at(pos);
    std::size_t end = pos;
    if (pass.leading_space && (classes_of(c) & kSpace) != 0) {
      end = set_run_end(word, pass, pos + c.length);
      if (end == pos + c.length) end = pos;
    }
    if (end == pos) end = set_run_end(word, pass, pos);
    if (end == pos) {
      pos += c.length;
      continue;
    }
    cutter.cut(pos);
    cutter.cut(end);
    pos = end;
  }
}

void split_trailing_space(const Word& word, Cutter& cutter) {
  std::size_t run = 0;  // where the current run of white space starts
  for (std::size_t pos = 0; !word.at_end(pos);) {
    const Char c = word.at(pos);
    pos += c.length;
    if ((classes_of(c) & kSpace) == 0) run = pos;
  }
  cutter.cut(run);
}

}  // namespace

void split_word(const Pass& pass, std::string_view text, std::uint32_t offset,
                std::vector<std::uint32_t>& ends) {
  const Word word(text);
  Cutter cutter(offset, ends);
  switch (pass.kind) {
    case PassKind::kRun:
      split_runs(word, pass, cutter);
      break;
    case PassKind::kTrailingSpace:
      split_trailing_space(word, cutter);
      break;
    case PassKind::kWordsGpt2:
      for (std::size_t pos = 0; !word.at_end(pos);) cutter.cut(pos = gpt2_end(word, pos));
      break;
    case PassKind::kWordsCl100k:
      for (std::size_t pos = 0; !word.at_end(pos);) cutter.cut(pos = cl100k_end(word, pass, pos));
      break;
  }
  cutter.cut(text.size());
}

}  // namespace minfer::text
