#include "chat_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "chat_messages.h"
#include "chat_prompt.h"
#include "prefix.h"
#include "sampling_settings.h"

namespace minfer::app {
namespace {

/// The present state and its branches.
constexpr std::int32_t kMaxSequences = 8;

/// Counts what a reply's speculation did when the reply is over.
class CountedSource final : public engine::LogitsSource {
 public:
  CountedSource(std::unique_ptr<engine::SpeculativeSource> source, engine::SpeculationCounts& sum)
      : source_(std::move(source)), sum_(sum) {}
  ~CountedSource() override {
    sum_.rounds += source_->counts().rounds;
    sum_.drafted += source_->counts().drafted;
    sum_.accepted += source_->counts().accepted;
  }
  CountedSource(const CountedSource&) = delete;
  CountedSource& operator=(const CountedSource&) = delete;

  Result<std::span<const float>> advance(std::span<const engine::TokenId> tokens) override {
    return source_->advance(tokens);
  }
  [[nodiscard]] std::int32_t cursor() const override { return source_->cursor(); }
  [[nodiscard]] std::int32_t n_ctx() const override { return source_->n_ctx(); }
  Status set_horizon(std::int32_t position) override { return source_->set_horizon(position); }

 private:
  std::unique_ptr<engine::SpeculativeSource> source_;
  engine::SpeculationCounts& sum_;
};

}  // namespace

/// A grammar is of the answer: while `free`, every token may come, and the grammar is not told.
class ChatSession::AnswerConstraint final : public sampling::Constraint {
 public:
  AnswerConstraint(std::unique_ptr<sampling::Constraint> grammar, const bool& free,
                   std::size_t n_vocab)
      : grammar_(std::move(grammar)), free_(free), all_((n_vocab + 63) / 64, ~std::uint64_t{0}) {
    if (n_vocab % 64 != 0) all_.back() >>= 64 - n_vocab % 64;
  }

  Result<bool> allows(sampling::TokenId token) override {
    return free_ ? Result<bool>(true) : grammar_->allows(token);
  }
  Result<std::span<const std::uint64_t>> allowed() override {
    return free_ ? Result<std::span<const std::uint64_t>>(all_) : grammar_->allowed();
  }
  Status accept(sampling::TokenId token) override {
    return free_ ? ok_status() : grammar_->accept(token);
  }
  void reset() override { grammar_->reset(); }
  [[nodiscard]] bool is_complete() const override { return grammar_->is_complete(); }

 private:
  std::unique_ptr<sampling::Constraint> grammar_;
  const bool& free_;
  std::vector<std::uint64_t> all_;
};

class ChatSession::Writer final : public engine::PromptWriter {
 public:
  /// `suffix`: what stands behind each prompt, control tokens spelled out.
  Writer(const chat::ChatTemplate& source, const ReplyShape& replies, chat::Conversation shape,
         std::string suffix, chat::RenderOptions options)
      : template_(source),
        replies_(replies),
        shape_(std::move(shape)),
        suffix_(std::move(suffix)),
        options_(options) {}

  Result<std::vector<chat::PromptSpan>> write(std::span<const engine::Message> messages) override {
    JsonValue::Array list;
    for (const engine::Message& message : messages) {
      list.push_back(make_message(message));
    }
    shape_.messages = JsonValue{std::move(list)};
    MINFER_ASSIGN_OR_RETURN(auto spans, template_.render(shape_, options_));
    if (!suffix_.empty()) spans.push_back({suffix_, true, -1});
    return spans;
  }

 private:
  /// A reply stays as the model wrote it, thoughts and all, for the template to cut; one with
  /// headers inside is taken apart, since such templates write the headers themselves.
  [[nodiscard]] JsonValue make_message(const engine::Message& message) const {
    if (message.role != "assistant" || !replies_.format().headers.exists()) {
      return chat::make_message(message.role, message.content);
    }
    ReplyReader reader(replies_, chat::ReplyStart::kHeader, nullptr, 0, {});
    reader.feed(message.content);
    reader.finish();
    JsonValue out = chat::make_message(message.role, reader.reply().content);
    auto& members = std::get<JsonValue::Object>(out.data);
    for (const char* name : {"thinking", "reasoning_content"}) {
      if (reader.reply().reasoning.empty()) continue;
      members.emplace_back(name, JsonValue{reader.reply().reasoning});
    }
    return out;
  }

  const chat::ChatTemplate& template_;
  const ReplyShape& replies_;
  chat::Conversation shape_;
  std::string suffix_;
  chat::RenderOptions options_;
};

ChatSession::~ChatSession() = default;

engine::Session& ChatSession::session() const {
  return static_cast<engine::Session&>(conversation_->source());
}

Status ChatSession::set_sampling(const Invocation& invocation) {
  MINFER_ASSIGN_OR_RETURN(sampling::SamplerOptions settings, sampler_settings(invocation.options));
  // A random seed holds for the whole chat.
  if (invocation.options.seed < 0 && conversation_ != nullptr) settings.seed = sampling_.seed;
  MINFER_RETURN_IF_ERROR(take_file_settings(invocation, loaded_.model().file(), settings));
  const std::int64_t n_vocab = loaded_.model().hparams().n_vocab;
  MINFER_RETURN_IF_ERROR(sampling::Sampler::create(settings, n_vocab, {}).status());
  sampling_ = std::move(settings);
  breaker_bytes_ = breaker_bytes(sampling_, *loaded_.model().tokenizer(), n_vocab);
  return ok_status();
}

engine::ConversationParts ChatSession::parts() {
  const text::Tokenizer& tokenizer = *loaded_.model().tokenizer();
  engine::ConversationParts parts;
  parts.writer = writer_.get();
  parts.encoder = encoder_.get();
  parts.token_bytes = [this] { return shape_->token_bytes(); };
  parts.sampler = [this, &tokenizer](std::uint32_t attempt) -> Result<sampling::Sampler> {
    sampling::SamplerOptions settings = sampling_;
    settings.attempt = attempt;
    const std::int64_t n_vocab = loaded_.model().hparams().n_vocab;
    MINFER_ASSIGN_OR_RETURN(
        sampling::Sampler sampler,
        sampling::Sampler::create(settings, n_vocab, tokenizer.vocab().end_of_generation(),
                                  breaker_bytes_));
    MINFER_ASSIGN_OR_RETURN(
        auto constraint, make_constraint(grammar_, tokenizer, static_cast<std::int32_t>(n_vocab)));
    if (constraint != nullptr) {
      sampler.own_constraint(std::make_unique<AnswerConstraint>(std::move(constraint), answer_free_,
                                                                static_cast<std::size_t>(n_vocab)));
    }
    return sampler;
  };
  if (speculation_.draft != nullptr) {
    parts.ahead = [this](engine::RewindableSource& source,
                         std::span<const engine::TokenId> before) {
      return std::make_unique<CountedSource>(
          std::make_unique<engine::SpeculativeSource>(source, *speculation_.draft, gain_,
                                                      speculation_clock(), before),
          speculation_counts_);
    };
  }
  return parts;
}

Status ChatSession::open_conversation(const Invocation& invocation, const EnvSwitches& env) {
  const Options& options = invocation.options;
  const model::Model& model = loaded_.model();
  const text::Tokenizer* tokenizer = model.tokenizer();
  if (tokenizer == nullptr || !tokenizer->has_text()) {
    return unsupported(fmt::format("{} has no tokenizer: it cannot chat", options.model));
  }
  MINFER_ASSIGN_OR_RETURN(chat::TemplateSources sources,
                          template_sources(options, &model.file(), tokenizer));
  if (sources.empty()) return no_template(options.model);
  MINFER_ASSIGN_OR_RETURN(chat::ChatTemplate made, chat::ChatTemplate::create(std::move(sources)));
  template_ = std::make_unique<chat::ChatTemplate>(std::move(made));
  chat::Conversation shape;
  MINFER_ASSIGN_OR_RETURN(shape.arguments, template_arguments(options));
  MINFER_ASSIGN_OR_RETURN(const chat::RenderOptions render, render_options(options));
  shape_ = std::make_unique<ReplyShape>(
      ReplyShape::create(*template_, /*with_tools=*/false, *tokenizer));
  MINFER_ASSIGN_OR_RETURN(std::string suffix,
                          ask_reasoning(options, shape_->format(), shape.arguments));
  writer_ =
      std::make_unique<Writer>(*template_, *shape_, std::move(shape), std::move(suffix), render);
  encoder_ = std::make_unique<SpanEncoder>(*tokenizer, *template_);
  MINFER_RETURN_IF_ERROR(set_sampling(invocation));
  // A grammar that the model cannot follow is refused now, not with the first reply.
  MINFER_RETURN_IF_ERROR(
      make_constraint(grammar_, *tokenizer, static_cast<std::int32_t>(model.hparams().n_vocab))
          .status());

  MINFER_ASSIGN_OR_RETURN(plan_, plan_session(loaded_, invocation, env, 0, 0));
  plan_.options.max_sequences = kMaxSequences;
  plan_.options.kv_contexts = 2;
  MINFER_ASSIGN_OR_RETURN(SessionChoice choice, open_planned_session(loaded_, plan_));
  forward_ = &choice.session->forward();
  MINFER_ASSIGN_OR_RETURN(speculation_, open_draft(loaded_, choice.n_ctx, invocation, env));
  gain_ = speculation_gain(options);

  engine::GenerateOptions generate;
  generate.n_predict = options.predict;
  generate.ignore_eos = options.ignore_eos;
  generate.stops = options.stops;
  generate.eog = tokenizer->vocab().end_of_generation();
  generate.trace_timing = env.timing;
  conversation_ = std::make_unique<engine::Conversation>(parts(), std::move(choice.session),
                                                         std::move(generate));
  return ok_status();
}

Status ChatSession::open_file(const Invocation& invocation) {
  const std::string& path = invocation.options.session;
  if (path.empty()) return ok_status();
  MINFER_ASSIGN_OR_RETURN(const engine::SessionIdentity identity,
                          engine::session_identity(*loaded_.engine, plan_.options.kv_format));
  MINFER_ASSIGN_OR_RETURN(
      file_, engine::SessionFile::open(path, identity, engine::SessionFile::Mode::kSession));
  const engine::SessionState& saved = file_->state();
  engine::ConversationState state;
  for (const std::string& text : saved.messages) {
    auto message = parse_message_record(text);
    if (!message.ok()) return message.status().with_context(path);
    // Ids of another model mean nothing here.
    if (!file_->refusal().empty()) message->ids.clear();
    state.messages.push_back(std::move(*message));
  }
  if (state.messages.empty()) return ok_status();
  const Status extra = parse_state_record(saved.extra, state);
  if (!extra.ok()) return extra.with_context(path);
  if (file_->refusal().empty()) {
    state.stream = saved.stream;
    state.pending = saved.pending;
    plan::SequenceRows rows = session().rows();
    const auto n = file_->restore_rows(rows, static_cast<std::int32_t>(saved.stream.size()));
    if (!n.ok() && n.status().code() != StatusCode::kOutOfRange) {
      return n.status().with_context(path);
    }
    if (!n.ok() || static_cast<std::size_t>(*n) < saved.stream.size()) {
      plan_.warnings.push_back(fmt::format(
          "{}: {}: the next message prefills them again", path,
          n.ok()
              ? fmt::format("{} of {} saved tokens are damaged",
                            saved.stream.size() - static_cast<std::size_t>(*n), saved.stream.size())
              : "the saved tokens do not fit in the context"));
    }
  } else {
    plan_.warnings.push_back(fmt::format("{}: {}: the next message prefills the conversation again",
                                         path, file_->refusal()));
  }
  conversation_->restore(std::move(state));
  return ok_status();
}

Status ChatSession::open_prefix(const std::string& path) {
  // A session that goes on has all rows of its own.
  if (path.empty() || session().cursor() > 0) return ok_status();
  engine::ConversationState state = conversation_->state();
  MINFER_ASSIGN_OR_RETURN(state.stream,
                          take_prefix(path, loaded_, plan_.options.kv_format, session()));
  conversation_->restore(std::move(state));
  return ok_status();
}

Result<std::unique_ptr<ChatSession>> ChatSession::open(const Invocation& invocation,
                                                       const EnvSwitches& env) {
  std::unique_ptr<ChatSession> chat(new ChatSession());
  MINFER_ASSIGN_OR_RETURN(chat->grammar_, output_grammar(invocation));
  MINFER_ASSIGN_OR_RETURN(chat->loaded_, load(invocation, env));
  MINFER_RETURN_IF_ERROR(chat->open_conversation(invocation, env));
  MINFER_RETURN_IF_ERROR(chat->open_file(invocation));
  MINFER_RETURN_IF_ERROR(chat->open_prefix(invocation.options.prefix));
  if (invocation.was_given("system")) {
    chat->conversation_->set_system(invocation.options.system);
  }
  return chat;
}

Status ChatSession::save() {
  if (file_ == nullptr) return ok_status();
  const engine::ConversationState state = conversation_->state();
  engine::SessionState saved;
  for (const engine::Message& message : state.messages) {
    saved.messages.push_back(message_record(message));
  }
  saved.stream = state.stream;
  saved.pending = state.pending;
  saved.extra = state_record(state);
  plan::SequenceRows rows = session().rows();
  const Status status = file_->commit(saved, rows);
  return status.ok() ? status : status.with_context("the turn is not saved, only kept in memory");
}

}  // namespace minfer::app
