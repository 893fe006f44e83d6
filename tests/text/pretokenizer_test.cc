// The hand-written splitters against the published patterns, run by PCRE2.
#include "text/pretokenizer.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <string>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace minfer::text {
namespace {

class Pattern {
 public:
  explicit Pattern(const std::string& pattern) {
    int error = 0;
    PCRE2_SIZE at = 0;
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.c_str()), pattern.size(),
                          PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &error, &at, nullptr);
    EXPECT_NE(code_, nullptr) << pattern << " at " << at;
    match_ = pcre2_match_data_create_from_pattern(code_, nullptr);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() {
    pcre2_match_data_free(match_);
    pcre2_code_free(code_);
  }

  // The matches and what lies between them.
  std::vector<std::string> split(const std::string& text) const {
    std::vector<std::string> parts;
    std::size_t pos = 0;
    while (pos < text.size() && pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.c_str()),
                                            text.size(), pos, 0, match_, nullptr) > 0) {
      const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match_);
      if (range[0] > pos) parts.push_back(text.substr(pos, range[0] - pos));
      parts.push_back(text.substr(range[0], range[1] - range[0]));
      pos = range[1];
    }
    if (pos < text.size()) parts.push_back(text.substr(pos));
    return parts;
  }

 private:
  pcre2_code* code_;
  pcre2_match_data* match_;
};

std::vector<std::string> split_by_patterns(const std::deque<Pattern>& patterns,
                                           const std::string& text) {
  std::vector<std::string> words{text};
  if (text.empty()) words.clear();
  for (const Pattern& pattern : patterns) {
    std::vector<std::string> next;
    for (const std::string& word : words)
      for (std::string& part : pattern.split(word)) next.push_back(std::move(part));
    words = std::move(next);
  }
  return words;
}

std::vector<std::string> split_by_table(std::string_view name, const std::string& text) {
  std::vector<std::uint32_t> ends;
  split_words(*find_pretokenizer(name), text, ends);
  std::vector<std::string> words;
  std::uint32_t begin = 0;
  for (const std::uint32_t end : ends) {
    EXPECT_GT(end, begin);
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  EXPECT_EQ(begin, text.size());
  return words;
}

const std::string kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

std::string cl100k(const std::string& word, const std::string& numbers) {
  return R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?[)" + word +
         "]+|" + numbers + R"(| ?[^\s\p{N})" + word + R"(]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}

// As published; deepseek-llm's letters as the property that the listed ranges spell out (the pool
// below keeps to letters where both agree).
const std::map<std::string_view, std::vector<std::string>> kPatterns = {
    {"gpt-2", {kGpt2}},
    {"mpt", {kGpt2}},
    {"starcoder", {R"(\p{N})", kGpt2}},
    {"smollm", {R"(\p{N})", kGpt2}},
    {"falcon", {R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2, "[0-9][0-9][0-9]"}},
    {"llama-bpe", {cl100k(R"(\p{L})", R"(\p{N}{1,3})")}},
    {"qwen2", {cl100k(R"(\p{L})", R"(\p{N})")}},
    {"qwen35", {cl100k(R"(\p{L}\p{M})", R"(\p{N})")}},
    {"deepseek-llm",
     {R"([\r\n])", R"(\s?[\p{Lu}\p{Ll}\p{Lt}]+)",
      R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3001}-\x{3002}]+)",
      R"(\s+$)", R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)", R"(\p{N}+)"}},
    {"deepseek-coder",
     {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
      R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)", R"(\p{N})"}},
};

std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> kParts = {
      " ",   " ",      "  ",         "\n",     "\r\n",   "\t",   "\v", "a",       "Zb",
      "the", "'s",     "'S",         "'ll",    "'LL",    "'vE",  "'x", "'",       "1",
      "22",  "1234",   "12345",      "$",      "~",      "|",    "^",  "`",       "<=",
      "!!!", "...",    "_",          "-",      "\\",     "[]",   "é",  "e\u0301", "Ω",
      "щё",  "歪",     "龥",         "あ",     "한국",   "हि",   "½",  "Ⅷ",       "१२",
      "²",   "\u00a0", "\u2003",     "\u3000", "\u2028", "。",   "、", "‘",       "！",
      "＝",  "🦙",     "👨\u200d👩", "\u200b", "\ufeff", "\x04", "€",  "©",       "ſ",
      "DŽ",  "\u0085", "\U00040000"};
  std::string text;
  for (std::size_t n = random() % 16; n > 0; --n) {
    const std::string& part = kParts[random() % kParts.size()];
    for (std::size_t repeat = random() % 8 == 0 ? random() % 6 : 1; repeat > 0; --repeat)
      text += part;
  }
  return text;
}

TEST(PreTokenizer, every_row_splits_as_its_published_pattern) {
  for (const PreTokenizerRow& row : pretokenizers()) {
    ASSERT_TRUE(kPatterns.contains(row.name)) << row.name;
    std::deque<Pattern> patterns;
    for (const std::string& pattern : kPatterns.at(row.name)) patterns.emplace_back(pattern);
    std::mt19937 random(7);
    for (int i = 0; i < 300; ++i) {
      const std::string text = random_text(random);
      ASSERT_EQ(split_by_table(row.name, text), split_by_patterns(patterns, text))
          << row.name << ": " << testing::PrintToString(text);
    }
  }
}

TEST(PreTokenizer, examples) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(split_by_table("gpt-2", "I'm  here 123!"),
            (Words{"I", "'m", " ", " here", " 123", "!"}));
  EXPECT_EQ(split_by_table("smollm", "a12"), (Words{"a", "1", "2"}));
  EXPECT_EQ(split_by_table("llama-bpe", "x=12345\n\n y"),
            (Words{"x", "=", "123", "45", "\n\n", " y"}));
  EXPECT_EQ(split_by_table("falcon", "1234567"), (Words{"123", "456", "7"}));
  EXPECT_EQ(split_by_table("qwen2", ""), Words{});
}

TEST(PreTokenizer, bytes_that_are_not_utf8_lose_nothing) {
  std::mt19937 random(3);
  for (const PreTokenizerRow& row : pretokenizers()) {
    for (int i = 0; i < 200; ++i) {
      std::string text(random() % 40, '\0');
      for (char& c : text) c = static_cast<char>(random());
      std::string joined;
      for (const std::string& word : split_by_table(row.name, text)) joined += word;
      ASSERT_EQ(joined, text);
    }
  }
}

TEST(PreTokenizer, unknown_names_have_no_row) {
  EXPECT_EQ(find_pretokenizer("nonsense"), nullptr);
  EXPECT_EQ(find_pretokenizer(""), nullptr);
  EXPECT_EQ(find_pretokenizer("default"), nullptr);
}

}  // namespace
}  // namespace minfer::text
