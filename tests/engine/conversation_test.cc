// The conversation engine without a model: a source that notes what is run, replies by a script, a
// real chat template and a vocabulary of bytes and a few longer pieces.
#include "engine/conversation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "chat/chat_template.h"

namespace minfer::engine {
namespace {

constexpr TokenId kStart = 256, kEnd = 257, kOtherEnd = 258, kYo = 259, kFullBegin = 260;
constexpr std::size_t kVocab = 264;

const std::map<TokenId, std::string>& pieces() {
  static const std::map<TokenId, std::string> table = {
      {kStart, "<s>"}, {kEnd, "<e>"}, {kYo, "Yo"}, {kFullBegin, "Begin"}};
  return table;
}

/// Longest piece first; <s> and <e> only out of the template's text.
std::vector<TokenId> encode_text(std::string_view text, bool special) {
  std::vector<TokenId> ids;
  while (!text.empty()) {
    TokenId best = static_cast<unsigned char>(text[0]);
    std::size_t length = 1;
    for (const auto& [id, piece] : pieces()) {
      if ((id >= kYo || special) && piece.size() > length && text.starts_with(piece)) {
        best = id;
        length = piece.size();
      }
    }
    ids.push_back(best);
    text.remove_prefix(length);
  }
  return ids;
}

class Encoder final : public PromptEncoder {
 public:
  Result<std::vector<TokenId>> encode(std::span<const chat::PromptSpan> spans, bool) override {
    std::vector<TokenId> ids;
    for (const chat::PromptSpan& span : spans) {
      n_bytes += span.text.size();
      for (const TokenId id : encode_text(span.text, span.from_template)) ids.push_back(id);
    }
    return ids;
  }
  std::size_t n_bytes = 0;
};

class Writer final : public PromptWriter {
 public:
  explicit Writer(std::string_view source)
      : template_(
            chat::ChatTemplate::create({.main = std::string(source), .named = {}, .tokens = {}})) {}
  Result<std::vector<chat::PromptSpan>> write(std::span<const Message> messages) override {
    chat::Conversation conversation;
    JsonValue::Array list;
    for (const Message& m : messages) list.push_back(chat::make_message(m.role, m.content));
    conversation.messages = JsonValue{std::move(list)};
    return template_->render(conversation, {});
  }

 private:
  Result<chat::ChatTemplate> template_;
};

class Bytes final : public TokenBytes {
 public:
  void append(TokenId token, std::string& out) override {
    if (token < 256) out += static_cast<char>(token);
    if (token >= kYo) out += pieces().at(token);
  }
};

/// Rows shared by a source and its forks: what was run, in order.
struct Log {
  std::vector<std::vector<TokenId>> runs;
  std::int64_t n_tokens() const {
    std::int64_t n = 0;
    for (const auto& run : runs) n += static_cast<std::int64_t>(run.size());
    return n;
  }
};

/// Logits that make the next token of a script the likeliest; the script of a reply is chosen by
/// how many <s> stand in the stream, the token by how much came behind the last one's newline.
class Source final : public BranchingSource {
 public:
  using Script = std::function<std::vector<TokenId>(std::span<const TokenId> stream)>;
  Source(Script script, std::int32_t n_ctx, Log& log)
      : script_(std::move(script)), n_ctx_(n_ctx), log_(log) {}

  Result<std::span<const float>> advance(std::span<const TokenId> tokens) override {
    MINFER_RETURN_IF_ERROR(extend(tokens));
    logits_.assign(kVocab, 0.0F);
    const std::size_t prompt = prompt_end();
    const std::vector<TokenId> reply = script_(std::span(stream_).first(prompt));
    const std::size_t at = stream_.size() - prompt;
    logits_[static_cast<std::size_t>(at < reply.size() ? reply[at] : kEnd)] = 10.0F;
    return std::span<const float>(logits_);
  }
  Result<std::span<const float>> advance_each(std::span<const TokenId> tokens) override {
    return advance(tokens);
  }
  Status extend(std::span<const TokenId> tokens) override {
    if (fail_next > 0 && --fail_next == 0) return cancelled("stopped");
    if (stream_.size() + tokens.size() > static_cast<std::size_t>(n_ctx_))
      return out_of_range("past the end");
    stream_.insert(stream_.end(), tokens.begin(), tokens.end());
    log_.runs.emplace_back(tokens.begin(), tokens.end());
    return ok_status();
  }
  Status truncate(std::int32_t n) override {
    if (n < cursor()) stream_.resize(static_cast<std::size_t>(n));
    return ok_status();
  }
  Result<std::unique_ptr<BranchingSource>> fork() override {
    auto copy = std::make_unique<Source>(script_, n_ctx_, log_);
    copy->stream_ = stream_;
    return std::unique_ptr<BranchingSource>(std::move(copy));
  }
  std::int32_t cursor() const override { return static_cast<std::int32_t>(stream_.size()); }
  std::int32_t n_ctx() const override { return n_ctx_; }
  std::int32_t max_rows() const override { return 16; }

  const std::vector<TokenId>& stream() const { return stream_; }
  int fail_next = 0;

 private:
  // Behind the last "<s>a\n".
  std::size_t prompt_end() const {
    for (std::size_t i = stream_.size(); i-- > 0;) {
      if (stream_[i] == kStart) return std::min(i + 3, stream_.size());
    }
    return stream_.size();
  }

  Script script_;
  std::int32_t n_ctx_;
  Log& log_;
  std::vector<TokenId> stream_;
  std::vector<float> logits_;
};

constexpr std::string_view kPlain =
    "{% for m in messages %}<s>{{ m.role[0] }}\n{{ m.content }}<e>\n{% endfor %}"
    "{% if add_generation_prompt %}<s>a\n{% endif %}";
// Old replies are cut behind their first '/'.
constexpr std::string_view kRewriting =
    "{% for m in messages %}<s>{{ m.role[0] }}\n"
    "{% if m.role == 'assistant' %}{{ m.content.split('/')[-1] }}{% else %}{{ m.content }}"
    "{% endif %}<e>\n{% endfor %}{% if add_generation_prompt %}<s>a\n{% endif %}";

std::vector<TokenId> ids(std::string_view text) { return encode_text(text, true); }
std::vector<TokenId> letters(std::string_view text) {
  std::vector<TokenId> out;
  for (const char c : text) out.push_back(static_cast<unsigned char>(c));
  return out;
}

struct Chat {
  explicit Chat(std::string_view source_text = kPlain, std::int32_t n_ctx = 1000)
      : writer(source_text) {
    static const std::vector<TokenId> eog = {kEnd, kOtherEnd};
    ConversationParts parts;
    parts.writer = &writer;
    parts.encoder = &encoder;
    parts.token_bytes = [] { return std::make_unique<Bytes>(); };
    parts.sampler = [this](std::uint32_t attempt) {
      attempts.push_back(attempt);
      sampling::SamplerOptions options;
      options.set_greedy();
      options.attempt = attempt;
      return sampling::Sampler::create(options, kVocab, eog);
    };
    auto made = std::make_unique<Source>(
        [this](std::span<const TokenId> stream) { return reply(stream); }, n_ctx, log);
    GenerateOptions options;
    options.eog = eog;
    conversation = std::make_unique<Conversation>(parts, std::move(made), options);
    hooks.on_text = [this](std::string_view text) {
      shown += text;
      return ++n_shown != stop_after;
    };
  }

  Source& source() { return static_cast<Source&>(conversation->source()); }

  /// Sends, and checks what holds at all times.
  Reply send(const std::string& text) {
    log.runs.clear();
    shown.clear();
    n_shown = 0;
    auto result = conversation->send(text, hooks);
    EXPECT_TRUE(result.ok()) << result.status().message();
    check();
    return result.ok() ? *result : Reply{};
  }

  void check() {
    EXPECT_EQ(std::vector<TokenId>(conversation->stream().begin(), conversation->stream().end()),
              source().stream());
    EXPECT_EQ(static_cast<std::int32_t>(conversation->stream().size()), source().cursor());
  }

  /// Stream and pending.
  std::vector<TokenId> decided() {
    std::vector<TokenId> all(conversation->stream().begin(), conversation->stream().end());
    all.insert(all.end(), conversation->pending().begin(), conversation->pending().end());
    return all;
  }

  Writer writer;
  Encoder encoder;
  Log log;
  std::function<std::vector<TokenId>(std::span<const TokenId>)> reply =
      [](std::span<const TokenId>) { return std::vector<TokenId>{kYo}; };
  std::vector<std::uint32_t> attempts;
  std::string shown;
  int n_shown = 0;
  int stop_after = -1;
  ReplyHooks hooks;
  std::unique_ptr<Conversation> conversation;
};

TEST(Conversation, second_turn_appends_only_delta) {
  Chat chat;
  const Reply first = chat.send("Hi");
  EXPECT_EQ(first.text, "Yo");
  EXPECT_EQ(first.n_prefill, static_cast<std::int32_t>(ids("<s>u\nHi<e>\n<s>a\n").size()));
  EXPECT_EQ(chat.decided(), ids("<s>u\nHi<e>\n<s>a\nYo<e>"));
  const std::size_t before = chat.conversation->stream().size();
  const Reply second = chat.send("Bye");
  const auto whole = ids("<s>u\nHi<e>\n<s>a\nYo<e>\n<s>u\nBye<e>\n<s>a\n");
  EXPECT_EQ(second.n_prompt, static_cast<std::int32_t>(whole.size()));
  EXPECT_EQ(second.n_prefill, static_cast<std::int32_t>(whole.size() - before));
  EXPECT_EQ(chat.log.n_tokens(), second.n_prefill + 1);  // and the reply's one token
  EXPECT_EQ(chat.decided(), ids("<s>u\nHi<e>\n<s>a\nYo<e>\n<s>u\nBye<e>\n<s>a\nYo<e>"));
}

TEST(Conversation, a_turn_tokenizes_its_own_text_alone) {
  Chat chat;
  std::vector<std::size_t> n_bytes;
  for (int i = 0; i < 6; ++i) {
    chat.encoder.n_bytes = 0;
    chat.send("Bye");
    n_bytes.push_back(chat.encoder.n_bytes);
  }
  // The stretch before a reply once more, since the role's name was the template's before.
  EXPECT_EQ(n_bytes[5], n_bytes[2]);
  EXPECT_EQ(n_bytes[5], 2 * std::string_view("<e>\n<s>u\nBye<e>\n<s>a\n").size());
}

TEST(Conversation, reply_keeps_its_own_ids) {
  Chat chat;
  chat.reply = [](auto) { return letters("Yo"); };  // not as the tokenizer spells it
  chat.send("Hi");
  const std::size_t before = chat.conversation->stream().size();
  const Reply second = chat.send("Bye");
  EXPECT_EQ(second.n_prompt - second.n_prefill, static_cast<std::int32_t>(before));
  std::vector<TokenId> expected = ids("<s>u\nHi<e>\n<s>a\n");
  for (const TokenId id : letters("Yo")) expected.push_back(id);
  EXPECT_TRUE(
      std::ranges::equal(std::span(chat.source().stream()).first(expected.size()), expected));
  // The same text from a file, without ids: as the tokenizer spells it.
  chat.conversation->set_messages({{"user", "Hi", {}}, {"assistant", "Yo", {}}});
  chat.send("Bye");
  EXPECT_EQ(chat.decided(), [] {
    auto all = ids("<s>u\nHi<e>\n<s>a\nYo<e>\n<s>u\nBye<e>\n<s>a\n");
    for (const TokenId id : letters("Yo")) all.push_back(id);
    all.push_back(kEnd);
    return all;
  }());
}

TEST(Conversation, history_rewriting_template_keeps_common_prefix) {
  Chat chat(kRewriting);
  chat.reply = [](auto) { return letters("hm/Ah"); };
  chat.send("Hi");
  const auto kept = ids("<s>u\nHi<e>\n<s>a\n");
  const auto whole = ids("<s>u\nHi<e>\n<s>a\nAh<e>\n<s>u\nBye<e>\n<s>a\n");
  const Reply second = chat.send("Bye");
  EXPECT_EQ(second.n_prompt, static_cast<std::int32_t>(whole.size()));
  EXPECT_EQ(second.n_prefill, static_cast<std::int32_t>(whole.size() - kept.size()));
  EXPECT_TRUE(std::ranges::equal(std::span(chat.source().stream()).first(whole.size()), whole));
}

TEST(Conversation, eot_inserted_after_a_turn_without_one) {
  const std::string prompt = "<s>u\nHi<e>\n<s>a\n";
  {  // a cap
    Chat chat;
    chat.reply = [](auto) { return letters("abcdef"); };
    chat.conversation->options().n_predict = 3;
    EXPECT_EQ(chat.send("Hi").finish, FinishReason::kLength);
    EXPECT_EQ(chat.decided(), ids(prompt + "abc<e>"));
    chat.send("Bye");
    EXPECT_EQ(chat.decided(), ids(prompt + "abc<e>\n<s>u\nBye<e>\n<s>a\nabc<e>"));
  }
  {  // another end-of-generation token than the template's
    Chat chat;
    chat.reply = [](auto) { return std::vector<TokenId>{kYo, kOtherEnd}; };
    EXPECT_EQ(chat.send("Hi").finish, FinishReason::kEndOfGeneration);
    chat.send("Bye");
    EXPECT_TRUE(std::ranges::count(chat.source().stream(), kOtherEnd) == 0);
    EXPECT_TRUE(
        std::ranges::equal(std::span(chat.source().stream()).first(ids(prompt + "Yo<e>\n").size()),
                           ids(prompt + "Yo<e>\n")));
  }
  {  // a stop string in the middle of a token
    Chat chat;
    chat.reply = [](auto) { return std::vector<TokenId>{'a', kFullBegin, 'b'}; };
    chat.conversation->options().stops = {"egi"};
    const Reply reply = chat.send("Hi");
    EXPECT_EQ(reply.finish, FinishReason::kStopString);
    EXPECT_EQ(reply.text, "aB");
    EXPECT_EQ(chat.shown, "aB");
    EXPECT_EQ(chat.decided(), ids(prompt + "aB<e>"));
    EXPECT_EQ(std::vector<TokenId>(chat.conversation->stream().begin(),
                                   chat.conversation->stream().end()),
              ids(prompt + "a"));
    chat.conversation->options().stops.clear();
    chat.send("Bye");
    EXPECT_TRUE(std::ranges::equal(
        std::span(chat.source().stream()).first(ids(prompt + "aB<e>\n<s>u\nBye").size()),
        ids(prompt + "aB<e>\n<s>u\nBye")));
  }
  {  // Ctrl+C
    Chat chat;
    chat.reply = [](auto) { return letters("abcdef"); };
    chat.stop_after = 2;
    const Reply reply = chat.send("Hi");
    EXPECT_EQ(reply.finish, FinishReason::kCancelled);
    EXPECT_EQ(reply.text, "ab");
    EXPECT_EQ(chat.decided(), ids(prompt + "ab<e>"));
  }
}

TEST(Conversation, a_cut_character_is_not_part_of_the_reply) {
  Chat chat;
  chat.reply = [](auto) { return letters("a\xC3\xA9"); };
  chat.conversation->options().n_predict = 2;
  EXPECT_EQ(chat.send("Hi").text, "a");
  EXPECT_EQ(chat.decided(), ids("<s>u\nHi<e>\n<s>a\na<e>"));
  EXPECT_EQ(chat.shown, "a\xEF\xBF\xBD");
}

TEST(Conversation, stopped_before_the_first_text_the_message_is_taken_back) {
  Chat chat;
  chat.send("Hi");
  const std::size_t stream = chat.conversation->stream().size();
  chat.source().fail_next = 2;
  const Reply reply = chat.send("A message of more than one batch of tokens");
  EXPECT_TRUE(reply.taken_back);
  EXPECT_EQ(reply.finish, FinishReason::kCancelled);
  EXPECT_EQ(chat.conversation->n_turns(), 1);
  EXPECT_GT(chat.conversation->stream().size(), stream);  // what was prefilled stays
  const Reply again = chat.send("A message of more than one batch of tokens");
  EXPECT_EQ(again.text, "Yo");
  EXPECT_EQ(again.n_prefill, reply.n_prefill - chat.source().max_rows());
}

TEST(Conversation, regen_rolls_back_and_draws_again) {
  Chat chat;
  int n = 0;
  chat.reply = [&n](auto) { return n == 0 ? letters("one") : letters("two"); };
  chat.send("Hi");
  const auto prompt = ids("<s>u\nHi<e>\n<s>a\n");
  n = 1;
  chat.log.runs.clear();
  auto again = chat.conversation->regenerate(chat.hooks);
  ASSERT_TRUE(again.ok());
  chat.check();
  EXPECT_EQ(again->text, "two");
  EXPECT_EQ(again->n_prefill, 1);
  EXPECT_EQ(chat.log.runs[0], std::vector<TokenId>{prompt.back()});
  EXPECT_EQ(chat.attempts, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(chat.conversation->messages().size(), 2U);
  EXPECT_EQ(chat.decided(), ids("<s>u\nHi<e>\n<s>a\ntwo<e>"));
  ASSERT_TRUE(chat.conversation->regenerate(chat.hooks).ok());
  EXPECT_EQ(chat.attempts.back(), 2U);
  chat.send("Bye");
  EXPECT_EQ(chat.attempts.back(), 0U);
}

TEST(Conversation, alternatives_come_from_one_prefill_and_can_be_picked) {
  Chat chat;
  int n = 0;
  chat.reply = [&n](auto) { return letters(std::string(1, static_cast<char>('a' + n))); };
  chat.send("Hi");
  chat.log.runs.clear();
  auto all = chat.conversation->alternatives(3, chat.hooks, [&n](std::int32_t i) { n = i; });
  ASSERT_TRUE(all.ok());
  chat.check();
  ASSERT_EQ(all->size(), 3U);
  EXPECT_EQ((*all)[0].text + (*all)[1].text + (*all)[2].text, "bcd");
  for (const Reply& reply : *all) EXPECT_EQ(reply.n_prefill, 1);
  EXPECT_FALSE(chat.conversation->pick(4).ok());
  ASSERT_TRUE(chat.conversation->pick(2).ok());
  chat.send("Bye");
  EXPECT_TRUE(std::ranges::equal(
      std::span(chat.source().stream()).first(ids("<s>u\nHi<e>\n<s>a\nc<e>\n").size()),
      ids("<s>u\nHi<e>\n<s>a\nc<e>\n")));
}

TEST(Conversation, clear_keeps_system) {
  Chat chat;
  chat.conversation->set_system("Be brief.");
  chat.send("Hi");
  chat.send("Bye");
  chat.conversation->clear();
  EXPECT_EQ(chat.conversation->system(), "Be brief.");
  EXPECT_EQ(chat.conversation->n_turns(), 0);
  const Reply reply = chat.send("Hi");
  // The system text's rows were kept, and those of the equal message.
  EXPECT_EQ(reply.n_prefill, 1);
  chat.conversation->clear();
  const Reply other = chat.send("Ho");
  EXPECT_EQ(other.n_prefill, static_cast<std::int32_t>(ids("o<e>\n<s>a\n").size()));
  chat.conversation->set_system("");
  EXPECT_EQ(chat.send("Hi").n_prompt,
            static_cast<std::int32_t>(ids("<s>u\nHo<e>\n<s>a\nYo<e>\n<s>u\nHi<e>\n<s>a\n").size()));
}

TEST(Conversation, overflow_drops_oldest_turns) {
  Chat chat(kPlain, 160);
  chat.conversation->set_system("SYS");
  int n_dropped = 0;
  chat.hooks.on_dropped = [&](std::int32_t n) { n_dropped += n; };
  int turns = 0;
  while (n_dropped == 0 && turns < 50) {
    chat.send("message " + std::to_string(turns++));
    EXPECT_EQ(chat.conversation->system(), "SYS");
  }
  EXPECT_GT(n_dropped, 0);
  EXPECT_GT(turns, 3);
  const auto messages = chat.conversation->messages();
  EXPECT_EQ(messages[0].content, "SYS");
  EXPECT_EQ(messages[1].role, "user");
  EXPECT_EQ(messages[1].content, "message " + std::to_string(n_dropped));
  EXPECT_LE(chat.conversation->stream().size(), 160U * 3 / 4 + 1);
  EXPECT_TRUE(std::ranges::equal(std::span(chat.source().stream()).first(7), ids("<s>s\nSYS<e>")));
}

TEST(Conversation, a_message_that_cannot_fit_is_refused_before_prefill) {
  Chat chat(kPlain, 64);
  chat.send("Hi");
  const auto stream = chat.source().stream();
  chat.log.runs.clear();
  const auto refused = chat.conversation->send(std::string(100, 'x'), chat.hooks);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kOutOfRange);
  EXPECT_NE(refused.status().message().find("64"), std::string::npos);
  EXPECT_TRUE(chat.log.runs.empty());
  EXPECT_EQ(chat.source().stream(), stream);
  EXPECT_EQ(chat.conversation->n_turns(), 1);
  EXPECT_EQ(chat.send("Ho").text, "Yo");
}

TEST(Conversation, context_fill_during_decode_stops_cleanly) {
  Chat chat(kPlain, 64);
  chat.reply = [](auto) { return std::vector<TokenId>(1000, 'x'); };
  const Reply reply = chat.send("Hi");
  EXPECT_EQ(reply.finish, FinishReason::kContext);
  EXPECT_TRUE(reply.status.ok());
  EXPECT_EQ(reply.n_prompt + reply.n_tokens, 64);
  EXPECT_EQ(chat.conversation->messages().back().content, std::string(reply.text));
  chat.reply = [](auto) { return std::vector<TokenId>{kYo}; };
  const Reply next = chat.send("Bye");
  EXPECT_EQ(next.text, "Yo");
  EXPECT_EQ(next.n_dropped_turns, 1);
}

TEST(Conversation, stream_equals_cursor_always) {
  // Everything a person can do, in an order that depends on a seed.
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    Chat chat(seed % 2 == 0 ? kPlain : kRewriting, 200);
    std::uint32_t state = seed;
    const auto random = [&state](std::uint32_t n) {
      state = state * 1664525U + 1013904223U;
      return (state >> 16) % n;
    };
    chat.reply = [&](std::span<const TokenId> prompt) {
      std::vector<TokenId> out(prompt.size() % 7, 'r');
      if (prompt.size() % 3 == 0) out.push_back('/');
      if (prompt.size() % 5 == 0) out.push_back(kFullBegin);
      return out;
    };
    for (int step = 0; step < 40; ++step) {
      Conversation& talk = *chat.conversation;
      const std::string text(random(30), 'm');
      talk.options().n_predict = random(4) == 0 ? 2 : -1;
      talk.options().stops.clear();
      if (random(4) == 0) talk.options().stops = {"gi"};
      chat.source().fail_next = random(6) == 0 ? static_cast<int>(random(5)) : 0;
      chat.n_shown = 0;
      chat.stop_after = random(5) == 0 ? 2 : -1;
      const auto turns = static_cast<std::uint32_t>(talk.n_turns());
      switch (random(12)) {
        case 0:
          static_cast<void>(talk.regenerate(chat.hooks));
          break;
        case 1:
          static_cast<void>(talk.take_back(static_cast<std::int32_t>(random(turns + 2))));
          break;
        case 2:
          static_cast<void>(talk.go_to(static_cast<std::int32_t>(random(turns + 2))));
          break;
        case 3:
          talk.set_system(text);
          break;
        case 4:
          static_cast<void>(talk.alternatives(2, chat.hooks, {}));
          break;
        case 5:
          static_cast<void>(talk.pick(1));
          break;
        case 6:
          static_cast<void>(talk.fork("b" + std::to_string(random(4))));
          break;
        case 7:
          static_cast<void>(talk.switch_to("b" + std::to_string(random(4))));
          break;
        case 8:
          static_cast<void>(talk.prefill_ahead("some words " + text, 4));
          break;
        default:
          static_cast<void>(talk.send("say " + text, chat.hooks));
          break;
      }
      chat.check();
      if (HasFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
  }
}

TEST(Conversation, type_ahead_prefills_what_is_finished_and_changes_no_id) {
  Chat chat;
  chat.send("Hi");
  Chat plain;
  plain.send("Hi");
  const std::string text = "one two three";
  while (*chat.conversation->prefill_ahead("one two thr", 2)) chat.check();
  chat.check();
  const auto ahead = chat.conversation->stream().size();
  EXPECT_EQ(ahead, ids("<s>u\nHi<e>\n<s>a\nYo<e>\n<s>u\none two").size());
  // An edit moves the cursor back.
  EXPECT_TRUE(chat.conversation->prefill_ahead("one tow thr", 100).ok());
  EXPECT_EQ(chat.conversation->stream().size(), ahead);
  while (*chat.conversation->prefill_ahead(text + " ", 100)) continue;
  const Reply fast = chat.send(text);
  const Reply slow = plain.send(text);
  EXPECT_EQ(fast.text, slow.text);
  EXPECT_EQ(chat.source().stream(), plain.source().stream());
  EXPECT_EQ(fast.n_prefill, static_cast<std::int32_t>(ids("<e>\n<s>a\n").size()));
}

TEST(Conversation, type_ahead_is_of_the_messages_as_they_are) {
  Chat chat;
  chat.send("Hi");
  while (*chat.conversation->prefill_ahead("one two ", 100)) continue;
  ASSERT_TRUE(chat.conversation->take_back(1).ok());
  chat.send("Good day");
  const std::vector<TokenId> stream(chat.conversation->stream().begin(),
                                    chat.conversation->stream().end());
  while (*chat.conversation->prefill_ahead("one two ", 100)) chat.check();
  ASSERT_GT(chat.conversation->stream().size(), stream.size());
  EXPECT_TRUE(std::equal(stream.begin(), stream.end(), chat.conversation->stream().begin()));
}

TEST(Conversation, branches_go_their_own_ways) {
  Chat chat;
  chat.send("Hi");
  ASSERT_TRUE(chat.conversation->fork("other").ok());
  EXPECT_FALSE(chat.conversation->fork("other").ok());
  EXPECT_FALSE(chat.conversation->fork("main").ok());
  chat.send("in other");
  ASSERT_TRUE(chat.conversation->switch_to("main").ok());
  EXPECT_EQ(chat.conversation->n_turns(), 1);
  EXPECT_EQ(chat.conversation->branches(), (std::vector<std::string>{"main", "other"}));
  const std::size_t before = chat.conversation->stream().size();
  const Reply reply = chat.send("in main");
  EXPECT_EQ(reply.n_prompt - reply.n_prefill, static_cast<std::int32_t>(before));
  ASSERT_TRUE(chat.conversation->switch_to("other").ok());
  EXPECT_EQ(chat.conversation->messages()[2].content, "in other");
  EXPECT_EQ(chat.conversation->switch_to("none").code(), StatusCode::kNotFound);
}

TEST(Conversation, undo_gives_the_message_back) {
  Chat chat;
  chat.send("one");
  chat.send("two");
  auto text = chat.conversation->take_back(2);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "two");
  EXPECT_EQ(chat.conversation->n_turns(), 1);
  EXPECT_FALSE(chat.conversation->take_back(2).ok());
  EXPECT_FALSE(chat.conversation->go_to(2).ok());
  EXPECT_FALSE(chat.conversation->take_back(0).ok());
}

TEST(Conversation, a_state_goes_on_without_prefill) {
  Chat chat;
  chat.send("Hi");
  const ConversationState state = chat.conversation->state();
  Chat other;
  ASSERT_TRUE(other.source().extend(state.stream).ok());
  other.conversation->restore(state);
  EXPECT_EQ(other.decided(), chat.decided());
  const Reply reply = other.send("Bye");
  EXPECT_EQ(reply.n_prompt - reply.n_prefill, static_cast<std::int32_t>(state.stream.size()));
  Chat rows_lost;
  rows_lost.conversation->restore(state);
  EXPECT_EQ(rows_lost.send("Bye").n_prefill, reply.n_prompt);
}

}  // namespace
}  // namespace minfer::engine
