#include "text/pretokenizer.h"

#include <algorithm>
#include <array>

#include "text/word_split.h"

namespace minfer::text {
namespace {

constexpr std::array<CodeRange, 1> kAsciiDigitRanges = {{{'0', '9'}}};
constexpr std::array<CodeRange, 2> kLineBreakRanges = {{{'\n', '\n'}, {'\r', '\r'}}};
constexpr std::array<CodeRange, 7> kFalconRanges = {
    {{'$', '$'}, {'+', '+'}, {'<', '>'}, {'^', '^'}, {'`', '`'}, {'|', '|'}, {'~', '~'}}};
constexpr std::array<CodeRange, 2> kCjkRanges = {{{0x800, 0x9FA5}, {0xAC00, 0xD7FF}}};
// U+3000 is white space and never counts as punctuation here.
constexpr std::array<CodeRange, 6> kDeepseekPunctuationRanges = {{{'!', '/'},
                                                                  {':', '~'},
                                                                  {0x2018, 0x201F},
                                                                  {0x3001, 0x3002},
                                                                  {0xFF01, 0xFF0F},
                                                                  {0xFF1A, 0xFF5E}}};
// Cased letters, as listed in the published pattern.
constexpr std::array<CodeRange, 87> kDeepseekLetterRanges = {
    {{0x41, 0x5A},       {0x61, 0x7A},       {0xB5, 0xB5},       {0xC0, 0xD6},
     {0xD8, 0xF6},       {0xF8, 0x1BA},      {0x1BC, 0x1BF},     {0x1C4, 0x293},
     {0x295, 0x2AF},     {0x370, 0x373},     {0x376, 0x376},     {0x377, 0x377},
     {0x37B, 0x37D},     {0x37F, 0x37F},     {0x386, 0x386},     {0x388, 0x38A},
     {0x38C, 0x38C},     {0x38E, 0x3A1},     {0x3A3, 0x3F5},     {0x3F7, 0x481},
     {0x48A, 0x52F},     {0x531, 0x556},     {0x10A0, 0x10C5},   {0x13A0, 0x13F5},
     {0x13F8, 0x13FD},   {0x1C90, 0x1CBA},   {0x1CBD, 0x1CBF},   {0x1D00, 0x1D2B},
     {0x1D6B, 0x1D77},   {0x1D79, 0x1D9A},   {0x1E00, 0x1F15},   {0x1F18, 0x1F1D},
     {0x1F20, 0x1F45},   {0x1F48, 0x1F4D},   {0x1F50, 0x1F57},   {0x1F59, 0x1F59},
     {0x1F5B, 0x1F5B},   {0x1F5D, 0x1F5D},   {0x1F5F, 0x1F7D},   {0x1F80, 0x1FB4},
     {0x1FB6, 0x1FBC},   {0x1FBE, 0x1FBE},   {0x1FC2, 0x1FC4},   {0x1FC6, 0x1FCC},
     {0x1FD0, 0x1FD3},   {0x1FD6, 0x1FDB},   {0x1FE0, 0x1FEC},   {0x1FF2, 0x1FF4},
     {0x1FF6, 0x1FFC},   {0x2102, 0x2102},   {0x2107, 0x2107},   {0x210A, 0x2113},
     {0x2115, 0x2115},   {0x2119, 0x211D},   {0x2124, 0x2124},   {0x2126, 0x2126},
     {0x2128, 0x2128},   {0x212A, 0x212D},   {0x212F, 0x2134},   {0x2139, 0x2139},
     {0x213C, 0x213F},   {0x2145, 0x2149},   {0x214E, 0x214E},   {0x2183, 0x2183},
     {0x2184, 0x2184},   {0x2C00, 0x2C7B},   {0x2C7E, 0x2CE4},   {0x2CEB, 0x2CEE},
     {0x2CF2, 0x2CF2},   {0x2CF3, 0x2CF3},   {0xA640, 0xA66D},   {0xA680, 0xA69B},
     {0xA722, 0xA76F},   {0xA771, 0xA787},   {0xA78B, 0xA78E},   {0xAB70, 0xABBF},
     {0xFB00, 0xFB06},   {0xFB13, 0xFB17},   {0xFF21, 0xFF3A},   {0xFF41, 0xFF5A},
     {0x10400, 0x1044F}, {0x104B0, 0x104D3}, {0x104D8, 0x104FB}, {0x10C80, 0x10CB2},
     {0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943}}};

constexpr CharSet kNumbers{kNumber, {}};
constexpr CharSet kLetters{kLetter, {}};
constexpr CharSet kLettersAndMarks{kLetter | kMark, {}};
constexpr CharSet kPunctuationOnly{kPunctuation, {}};
constexpr CharSet kAsciiDigits{0, kAsciiDigitRanges};
constexpr CharSet kLineBreaks{0, kLineBreakRanges};
constexpr CharSet kFalconPunctuation{kPunctuation, kFalconRanges};
constexpr CharSet kCjk{0, kCjkRanges};
constexpr CharSet kDeepseekLetters{0, kDeepseekLetterRanges};
constexpr CharSet kDeepseekPunctuation{0, kDeepseekPunctuationRanges};

constexpr Pass run(CharSet set, std::uint32_t min = 1, std::uint32_t max = 0xFFFFFFFF) {
  return {PassKind::kRun, set, min, max, false};
}
constexpr Pass run_after_space(CharSet set) { return {PassKind::kRun, set, 1, 0xFFFFFFFF, true}; }
constexpr Pass trailing_space() { return {PassKind::kTrailingSpace, {}, 1, 0xFFFFFFFF, false}; }
constexpr Pass words_gpt2() { return {PassKind::kWordsGpt2, kLetters, 1, 0xFFFFFFFF, false}; }
constexpr Pass words_cl100k(CharSet word, std::uint32_t max_digits) {
  return {PassKind::kWordsCl100k, word, 1, max_digits, false};
}

#define MINFER_PRETOKENIZER(id, name, add_bos, whole_words, ...) \
  constexpr auto kPasses_##id = std::to_array<Pass>({__VA_ARGS__});
#include "text/pretokenizers.def"
#undef MINFER_PRETOKENIZER

constexpr auto kRows = std::to_array<PreTokenizerRow>({
#define MINFER_PRETOKENIZER(id, name, add_bos, whole_words, ...) \
  {name, add_bos, whole_words, kPasses_##id},
#include "text/pretokenizers.def"
#undef MINFER_PRETOKENIZER
});

}  // namespace

bool CharSet::contains(const Char& c) const {
  if (!c.well_formed) return false;
  if (classes != 0 && (classify(c.code) & classes) != 0) return true;
  const auto above =
      std::upper_bound(ranges.begin(), ranges.end(), c.code,
                       [](char32_t code, const CodeRange& range) { return code < range.first; });
  return above != ranges.begin() && c.code <= std::prev(above)->last;
}

const PreTokenizerRow* find_pretokenizer(std::string_view name) {
  for (const PreTokenizerRow& row : kRows)
    if (row.name == name) return &row;
  return nullptr;
}

std::span<const PreTokenizerRow> pretokenizers() { return kRows; }

void split_words(const PreTokenizerRow& row, std::string_view text,
                 std::vector<std::uint32_t>& ends) {
  ends.clear();
  if (text.empty()) return;
  ends.push_back(static_cast<std::uint32_t>(text.size()));
  std::vector<std::uint32_t> next;
  for (const Pass& pass : row.passes) {
    next.clear();
    std::uint32_t begin = 0;
    for (const std::uint32_t end : ends) {
      split_word(pass, text.substr(begin, end - begin), begin, next);
      begin = end;
    }
    ends.swap(next);
  }
}

}  // namespace minfer::text
