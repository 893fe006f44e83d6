// Vocabularies that a broken or hostile file could describe.
#include "text/vocab.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/text/tiny_vocab.h"

namespace minfer::text {
namespace {

// The error for `spec`, which must be one line and name `needle`.
StatusCode refused(const VocabSpec& spec, std::string_view needle) {
  auto tokenizer = Tokenizer::create(spec);
  EXPECT_FALSE(tokenizer.ok());
  const std::string& message = tokenizer.status().message();
  EXPECT_NE(message.find(needle), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return tokenizer.status().code();
}

TEST(Vocab, a_file_without_a_tokenizer_model_is_refused) {
  EXPECT_EQ(refused({}, "tokenizer.ggml.model"), StatusCode::kCorrupt);
}

TEST(Vocab, unknown_models_and_pretokenizers_are_refused_by_name) {
  TinyVocab vocab = TinyVocab::byte_level();
  vocab.spec.pre = "nonsense";
  EXPECT_EQ(refused(vocab.spec, "\"nonsense\""), StatusCode::kUnsupported);
  vocab.spec.pre = "line\nbreak \xFF";
  EXPECT_EQ(refused(vocab.spec, "line\\x0abreak \xEF\xBF\xBD"), StatusCode::kUnsupported);
  vocab.spec.pre.reset();
  EXPECT_EQ(refused(vocab.spec, "tokenizer.ggml.pre"), StatusCode::kCorrupt);
  vocab.spec.model = "unigram9000";
  EXPECT_EQ(refused(vocab.spec, "\"unigram9000\""), StatusCode::kUnsupported);
  TinyVocab spm = TinyVocab::spm();
  spm.spec.pre = "nonsense";
  EXPECT_EQ(refused(spm.spec, "\"nonsense\""), StatusCode::kUnsupported);
}

TEST(Vocab, missing_and_misfitting_arrays_are_refused) {
  const TinyVocab good = TinyVocab::byte_level();
  VocabSpec spec = good.spec;
  spec.pieces.reset();
  refused(spec, "no tokenizer.ggml.tokens");
  spec.pieces.emplace();
  refused(spec, "tokenizer.ggml.tokens is empty");
  spec = good.spec;
  spec.types->pop_back();
  refused(spec, "255 entries for 256 tokens");
  spec = good.spec;
  (*spec.types)[7] = 99;
  refused(spec, "token_type of token 7 is 99");
  (*spec.types)[7] = -1;
  refused(spec, "token_type of token 7 is -1");
  spec = good.spec;
  spec.scores.emplace(3);
  refused(spec, "tokenizer.ggml.scores has 3");
  spec = good.spec;
  spec.merges.reset();
  refused(spec, "no tokenizer.ggml.merges");

  const TinyVocab spm = TinyVocab::spm();
  spec = spm.spec;
  spec.scores.reset();
  refused(spec, "no tokenizer.ggml.scores");
  spec = spm.spec;
  (*spec.scores)[4] = std::numeric_limits<float>::quiet_NaN();
  refused(spec, "scores of token 4");
}

TEST(Vocab, special_ids_out_of_range_are_refused_if_they_matter) {
  const TinyVocab good = TinyVocab::byte_level();
  for (const std::int64_t id : {std::int64_t{256}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    for (auto field : {&VocabSpec::bos, &VocabSpec::eos, &VocabSpec::eot, &VocabSpec::eom,
                       &VocabSpec::unk, &VocabSpec::sep, &VocabSpec::cls}) {
      VocabSpec spec = good.spec;
      spec.*field = id;
      refused(spec, "_token_id is " + std::to_string(id));
    }
    VocabSpec spec = good.spec;
    spec.pad = id;
    auto vocab = Vocab::create(spec);
    ASSERT_TRUE(vocab.ok());
    EXPECT_EQ((*vocab)->special().pad, -1);
    EXPECT_EQ((*vocab)->warnings().size(), 1U);
  }
}

TEST(Vocab, merges_that_can_not_be_read_are_refused) {
  for (const char* merge : {"", "ab", "ab ", " ab", " "}) {
    TinyVocab vocab = TinyVocab::byte_level();
    vocab.spec.merges->push_back(merge);
    refused(vocab.spec, "merge 0");
  }
}

TEST(Vocab, a_merge_into_nothing_is_left_out_with_a_warning) {
  TinyVocab vocab = TinyVocab::byte_level();
  vocab.spec.merges->push_back("a b");
  const std::int32_t bc = vocab.merge("b", "c");
  const auto tokenizer = vocab.build();
  ASSERT_EQ(tokenizer->warnings().size(), 1U);
  EXPECT_NE(tokenizer->warnings()[0].find("merge 0"), std::string::npos);
  EXPECT_EQ(encode(*tokenizer, "abc"), (Ids{'a', bc}));
}

TEST(Vocab, odd_pieces_load_with_a_warning) {
  TinyVocab vocab = TinyVocab::byte_level();
  const std::int32_t broken = vocab.add("\xFF\xC3");
  vocab.add("a");
  vocab.add("");
  vocab.add("", TokenType::kControl);
  const auto tokenizer = vocab.build();
  ASSERT_EQ(tokenizer->warnings().size(), 2U);
  EXPECT_NE(tokenizer->warnings()[0].find("not UTF-8"), std::string::npos);
  EXPECT_NE(tokenizer->warnings()[1].find("repeat"), std::string::npos);
  EXPECT_EQ(encode(*tokenizer, "a"), Ids{'a'});
  EXPECT_EQ(tokenizer->token_bytes(broken), "\xFF\xC3");
}

TEST(Vocab, huge_pieces_are_refused) {
  TinyVocab vocab = TinyVocab::byte_level();
  vocab.add(std::string(Vocab::kMaxPieceBytes, 'x'));
  vocab.add(std::string(Vocab::kMaxSpecialBytes, 'x'), TokenType::kUserDefined);
  EXPECT_TRUE(Tokenizer::create(vocab.spec).ok());
  TinyVocab special = vocab;
  special.add(std::string(Vocab::kMaxSpecialBytes + 1, 'y'), TokenType::kControl);
  refused(special.spec, "token 258");
  vocab.add(std::string(Vocab::kMaxPieceBytes + 1, 'y'));
  refused(vocab.spec, "token 258");
}

TEST(Vocab, no_tokenizer_means_that_there_is_no_text) {
  for (const char* model : {"none", "no_vocab", "test"}) {
    VocabSpec spec;
    spec.model = model;
    auto tokenizer = Tokenizer::create(spec);
    ASSERT_TRUE(tokenizer.ok());
    EXPECT_FALSE((*tokenizer)->has_text());
    const auto ids = (*tokenizer)->encode("x");
    ASSERT_FALSE(ids.ok());
    EXPECT_NE(ids.status().message().find(model), std::string::npos);
    EXPECT_EQ((*tokenizer)->decode(Ids{0, 5, -3}), "");
    EXPECT_FALSE((*tokenizer)->is_eog(0));
  }
}

TEST(Vocab, names_end_a_generation_only_as_control_tokens) {
  TinyVocab vocab = TinyVocab::byte_level();
  const std::int32_t im_end = vocab.add("<|im_end|>", TokenType::kControl);
  const std::int32_t text_end = vocab.add("<|endoftext|>", TokenType::kControl);
  vocab.add("</s>");
  vocab.add("<end_of_turn>", TokenType::kUserDefined);
  vocab.add("<|other|>", TokenType::kControl);
  vocab.spec.eos = 'e';
  vocab.spec.eom = 'm';
  const auto tokenizer = vocab.build();
  const auto eog = tokenizer->vocab().end_of_generation();
  EXPECT_EQ(Ids(eog.begin(), eog.end()), (Ids{'e', 'm', im_end, text_end}));
  EXPECT_EQ(tokenizer->vocab().special().eot, im_end);
  for (std::int32_t id = -1; id <= tokenizer->vocab().size(); ++id)
    EXPECT_EQ(tokenizer->is_eog(id), std::find(eog.begin(), eog.end(), id) != eog.end());
}

TEST(Vocab, flags_default_by_kind) {
  const TinyVocab gpt2 = TinyVocab::byte_level();
  const auto bpe = gpt2.build();
  EXPECT_FALSE(bpe->vocab().add_bos());
  EXPECT_FALSE(bpe->vocab().add_space_prefix());
  const TinyVocab llama3 = TinyVocab::byte_level("llama-bpe");
  EXPECT_TRUE(llama3.build()->vocab().add_bos());
  const TinyVocab llama2 = TinyVocab::spm();
  const auto spm = llama2.build();
  EXPECT_TRUE(spm->vocab().add_bos());
  EXPECT_TRUE(spm->vocab().add_space_prefix());
  EXPECT_FALSE(spm->vocab().add_eos());
  EXPECT_EQ(spm->vocab().special().bos, 1);
  EXPECT_EQ(spm->vocab().special().unk, 0);
}

}  // namespace
}  // namespace minfer::text
