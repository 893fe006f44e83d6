// ChatTemplate: a model's chat templates, parsed and probed once.
//
//   TemplateSources sources;             // of a GGUF file, or --chat-template
//   sources.main = ...; sources.tokens = {bos, eos};
//   MINFER_ASSIGN_OR_RETURN(ChatTemplate chat, ChatTemplate::create(std::move(sources)));
//   Conversation conversation;
//   conversation.messages = ...;         // an API client's JSON
//   MINFER_ASSIGN_OR_RETURN(auto spans, chat.render(conversation, {.now = ...}));
//
// Owns: the templates. Invariants: with tools, the template named tool_use is used where there is
// one; nothing else of the conversation chooses. Thread-safety: immutable after create(); any
// number of threads may render at once.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/abilities.h"
#include "chat/conversation.h"
#include "chat/template.h"

namespace minfer::chat {

struct TemplateSources {
  std::string main;  // tokenizer.chat_template
  /// tokenizer.chat_template.NAME
  std::vector<std::pair<std::string, std::string>> named;
  TokenNames tokens;

  [[nodiscard]] bool empty() const { return main.empty() && named.empty(); }
};

class ChatTemplate {
 public:
  /// kInvalidArgument: there is no source. kUnsupported: what is wrong with one, with line and
  /// column.
  static Result<ChatTemplate> create(TemplateSources sources);

  /// What the template does that is used with, or without, tools.
  [[nodiscard]] const Abilities& abilities(bool with_tools) const;
  /// Whether a template of its own, named tool_use, is used with tools.
  [[nodiscard]] bool has_tool_template() const { return variants_.size() > 1; }
  [[nodiscard]] std::string_view source(bool with_tools) const;
  /// The template itself, for renderings of another kind.
  [[nodiscard]] const Template& parsed(bool with_tools) const;
  [[nodiscard]] const TokenNames& tokens() const { return tokens_; }

  /// The prompt of the conversation. Errors: those of render_conversation; kUnsupported for tools
  /// where the template shows none (abilities(true).tools): they are never dropped in silence.
  [[nodiscard]] Result<std::vector<PromptSpan>> render(const Conversation& conversation,
                                                       const RenderOptions& options) const;

 private:
  struct Variant {
    std::string source;
    Template parsed;
    Abilities abilities;
  };
  ChatTemplate() = default;
  [[nodiscard]] const Variant& variant(bool with_tools) const;
  static Result<Variant> make_variant(std::string source, const TokenNames& tokens);

  std::vector<Variant> variants_;  // main, then tool_use where there is one
  TokenNames tokens_;
};

}  // namespace minfer::chat
