// The three ways from text to pieces, on vocabularies small enough to follow by hand.
#include <gtest/gtest.h>

#include <random>

#include "tests/text/tiny_vocab.h"
#include "text/wordpiece.h"

namespace minfer::text {
namespace {

TEST(ByteBpe, merges_by_rank_not_by_position) {
  TinyVocab vocab = TinyVocab::byte_level();
  const std::int32_t bc = vocab.merge("b", "c");
  const std::int32_t ab = vocab.merge("a", "b");
  const std::int32_t abc = vocab.merge("a", "bc");
  const auto tokenizer = vocab.build();
  EXPECT_EQ(encode(*tokenizer, "abc"), Ids{abc});
  EXPECT_EQ(encode(*tokenizer, "abd"), (Ids{ab, 'd'}));
  EXPECT_EQ(encode(*tokenizer, "zbc"), (Ids{'z', bc}));
}

TEST(ByteBpe, equal_ranks_merge_from_the_left) {
  TinyVocab vocab = TinyVocab::byte_level();
  const std::int32_t aa = vocab.merge("a", "a");
  EXPECT_EQ(encode(*vocab.build(), "aaaaa"), (Ids{aa, aa, 'a'}));
}

TEST(ByteBpe, a_merge_is_a_pair_not_a_spelling) {
  TinyVocab vocab = TinyVocab::byte_level();
  vocab.merge("b", "c");
  const std::int32_t ab = vocab.merge("a", "b");
  // "abc" is a piece, but only "ab" + "c" makes it, and "bc" merges first.
  vocab.merge("ab", "c");
  EXPECT_EQ(encode(*vocab.build(), "abc"), (Ids{'a', ab - 1}));
}

TEST(ByteBpe, words_merge_apart) {
  TinyVocab vocab = TinyVocab::byte_level();
  const std::int32_t aa = vocab.merge("a", "a");
  vocab.merge("a", "\xC4\xA0");
  EXPECT_EQ(encode(*vocab.build(), "aa aa"), (Ids{aa, ' ', aa}));
}

TEST(ByteBpe, whole_words_are_taken_before_any_merge_where_the_row_says_so) {
  for (const bool llama : {false, true}) {
    TinyVocab vocab = TinyVocab::byte_level(llama ? "llama-bpe" : "gpt-2");
    const std::int32_t word = vocab.add("word");
    vocab.add("turn", TokenType::kControl);
    const auto tokenizer = vocab.build();
    EXPECT_EQ(encode(*tokenizer, "word"), llama ? Ids{word} : (Ids{'w', 'o', 'r', 'd'}));
    EXPECT_EQ(encode(*tokenizer, "turn"), (Ids{'t', 'u', 'r', 'n'}));
  }
}

TEST(ByteBpe, a_byte_without_a_piece_leaves_nothing) {
  TinyVocab vocab("gpt2");
  vocab.spec.pre = "gpt-2";
  vocab.spec.merges.emplace();
  vocab.add("a");
  vocab.add("b");
  EXPECT_EQ(encode(*vocab.build(),
                   "a\x04"
                   "b"),
            (Ids{0, 1}));
}

TEST(ByteBpe, any_bytes_come_back) {
  TinyVocab vocab = TinyVocab::byte_level("qwen2");
  std::vector<std::string> made;
  std::mt19937 random(11);
  const auto piece = [&] {
    if (!made.empty() && random() % 2 == 0) return made[random() % made.size()];
    return std::string(byte_to_piece(static_cast<unsigned char>(random())));
  };
  for (int i = 0; i < 2000; ++i) {
    const std::string left = piece();
    const std::string right = piece();
    vocab.merge(left, right);
    made.push_back(left + right);
  }
  const auto tokenizer = vocab.build();
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 60, '\0');
    for (char& c : text) c = static_cast<char>(random());
    ASSERT_EQ(tokenizer->decode(encode(*tokenizer, text)), text);
  }
}

// The textbook algorithm: look at all pairs, merge the best, start over.
Ids merge_slowly(const Vocab& vocab, const std::string& word) {
  std::vector<std::string> symbols;
  for (const char c : word) symbols.emplace_back(1, c);
  while (true) {
    std::size_t best_rank = vocab.merges().size();
    std::size_t best_at = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      for (std::size_t rank = 0; rank < best_rank; ++rank) {
        if (vocab.merges()[rank] != symbols[i] + " " + symbols[i + 1]) continue;
        best_rank = rank;
        best_at = i;
      }
    }
    if (best_rank == vocab.merges().size()) break;
    symbols[best_at] += symbols[best_at + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
  }
  Ids ids;
  for (const std::string& symbol : symbols) ids.push_back(vocab.find(symbol));
  return ids;
}

TEST(ByteBpe, agrees_with_the_textbook_algorithm) {
  std::mt19937 random(13);
  for (int round = 0; round < 60; ++round) {
    TinyVocab vocab = TinyVocab::byte_level();
    std::vector<std::string> made = {"a", "b", "c"};
    for (int i = 0; i < 12; ++i) {
      const std::string left = made[random() % made.size()];
      const std::string right = made[random() % made.size()];
      vocab.merge(left, right);
      made.push_back(left + right);
    }
    const auto tokenizer = vocab.build();
    for (int i = 0; i < 20; ++i) {
      std::string word;
      for (std::size_t n = 1 + random() % 30; n > 0; --n)
        word.push_back(static_cast<char>('a' + random() % 3));
      ASSERT_EQ(encode(*tokenizer, word), merge_slowly(tokenizer->vocab(), word)) << word;
    }
  }
}

TEST(Spm, merges_by_score_then_from_the_left) {
  TinyVocab vocab = TinyVocab::spm();
  vocab.spec.add_space_prefix = false;
  const std::int32_t a = vocab.add("a", TokenType::kNormal, -9);
  vocab.add("b", TokenType::kNormal, -9);
  const std::int32_t c = vocab.add("c", TokenType::kNormal, -9);
  const std::int32_t ab = vocab.add("ab", TokenType::kNormal, -2);
  const std::int32_t bc = vocab.add("bc", TokenType::kNormal, -1);
  const std::int32_t aa = vocab.add("aa", TokenType::kNormal, -3);
  const auto tokenizer = vocab.build();
  EXPECT_EQ(encode(*tokenizer, "abc"), (Ids{a, bc}));
  EXPECT_EQ(encode(*tokenizer, "abac"), (Ids{ab, a, c}));
  EXPECT_EQ(encode(*tokenizer, "aaa"), (Ids{aa, a}));
}

TEST(Spm, what_has_no_piece_is_given_byte_by_byte) {
  TinyVocab vocab = TinyVocab::spm();
  vocab.spec.add_space_prefix = false;
  const auto tokenizer = vocab.build();
  const Ids ids = encode(*tokenizer, "\xE6\xAD\xAA\xFF");
  EXPECT_EQ(ids, (Ids{3 + 0xE6, 3 + 0xAD, 3 + 0xAA, 3 + 0xFF}));
  EXPECT_EQ(tokenizer->decode(ids), "\xE6\xAD\xAA\xFF");
}

TEST(Spm, without_byte_tokens_it_is_one_unknown_a_character) {
  TinyVocab vocab("llama");
  vocab.spec.scores.emplace();
  vocab.spec.add_space_prefix = false;
  vocab.add("<unk>", TokenType::kUnknown);
  const std::int32_t a = vocab.add("a");
  EXPECT_EQ(encode(*vocab.build(),
                   "a\xE6\xAD\xAA"
                   "a"),
            (Ids{a, 0, a}));
  (*vocab.spec.types)[0] = static_cast<std::int32_t>(TokenType::kNormal);
  EXPECT_EQ(encode(*vocab.build(),
                   "a\xE6\xAD\xAA"
                   "a"),
            (Ids{a, a}));
}

TEST(Spm, text_never_becomes_a_control_or_byte_token) {
  TinyVocab vocab = TinyVocab::spm();
  vocab.spec.add_space_prefix = false;
  for (const char* piece : {"<", "s", ">", "<s", "0", "x", "41", "<0", "<0x", "<0x41", "4", "1"})
    vocab.add(piece);
  const auto tokenizer = vocab.build();
  for (const char* text : {"<s>", "<0x41>"}) {
    const Ids ids = encode(*tokenizer, text);
    EXPECT_GT(ids.size(), 1U);
    EXPECT_EQ(tokenizer->decode(ids), text);
  }
}

TEST(WordPiece, eats_the_longest_piece_and_gives_up_on_the_word) {
  TinyVocab vocab("bert");
  vocab.spec.unk = vocab.add("[UNK]", TokenType::kControl);
  vocab.spec.cls = vocab.add("[CLS]", TokenType::kControl);
  vocab.spec.sep = vocab.add("[SEP]", TokenType::kControl);
  const std::string start = "\xE2\x96\x81";
  const std::int32_t un = vocab.add(start + "un");
  const std::int32_t unab = vocab.add(start + "una");
  const std::int32_t able = vocab.add("able");
  const std::int32_t ble = vocab.add("ble");
  const std::int32_t dot = vocab.add(start + ".");
  const std::int32_t cafe = vocab.add(start + "cafe");
  const std::int32_t wai = vocab.add(start + "歪");
  const auto tokenizer = vocab.build();
  EXPECT_EQ(encode(*tokenizer, "unable"), (Ids{unab, ble}));
  EXPECT_EQ(encode(*tokenizer, "  UNABLE."), (Ids{unab, ble, dot}));
  EXPECT_EQ(encode(*tokenizer, "Caf\u00e9 cafe\u0301"), (Ids{cafe, cafe}));
  EXPECT_EQ(encode(*tokenizer, "un歪un"), (Ids{un, wai, un}));
  EXPECT_EQ(encode(*tokenizer, "unabled un"), (Ids{0, un}));
  EXPECT_EQ(encode(*tokenizer, "able"), Ids{0});
  EXPECT_EQ(encode(*tokenizer, "un", {.add_special = true}), (Ids{1, un, 2}));
  EXPECT_EQ(encode(*tokenizer, "[CLS]un[SEP]", {.parse_special = true, .add_special = true}),
            (Ids{1, un, 2}));
  EXPECT_EQ(tokenizer->decode(Ids{1, un, able, dot, 2}), "unable .");
  vocab.spec.unk.reset();
  EXPECT_FALSE(Tokenizer::create(vocab.spec).ok());
}

}  // namespace
}  // namespace minfer::text
