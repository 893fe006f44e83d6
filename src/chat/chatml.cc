#include "chat/chatml.h"

#include <array>
#include <cstdint>

#include "base/hashing.h"

namespace minfer::chat {
namespace {

struct KnownTemplate {
  std::uint64_t hash;               // hash64 of the template's source
  std::string_view default_system;  // put first when there is no system message; empty: nothing is
};

constexpr std::array kKnownTemplates = {
    // SmolLM2 instruct
    KnownTemplate{0x99ab995e9629dacdULL,
                  "You are a helpful AI assistant named SmolLM, trained by Hugging Face"},
    // Qwen2.5 and Qwen2.5-Coder instruct
    KnownTemplate{0x639547fe4d33fa67ULL,
                  "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."},
    // ChatML as it is mostly written: every message, then the opening of the reply
    KnownTemplate{0xa04f41d813a07b13ULL, {}},
};

const KnownTemplate* find(std::string_view source) {
  const std::uint64_t hash = hash64(source);
  for (const KnownTemplate& known : kKnownTemplates) {
    if (known.hash == hash) return &known;
  }
  return nullptr;
}

void append_message(std::vector<PromptSpan>& spans, std::string_view role, std::string_view content,
                    bool content_from_template) {
  spans.push_back({"<|im_start|>" + std::string(role) + "\n", true});
  spans.push_back({std::string(content), content_from_template});
  spans.push_back({"<|im_end|>\n", true});
}

}  // namespace

bool knows_template(std::string_view source) { return find(source) != nullptr; }

Result<std::vector<PromptSpan>> render(std::string_view source,
                                       const std::vector<Message>& messages) {
  const KnownTemplate* known = find(source);
  if (known == nullptr) {
    return unsupported(
        "this model's chat template is not one that this version knows: use --raw and write the "
        "model's own prompt format");
  }
  if (messages.empty()) return invalid_argument("the conversation has no message");
  std::vector<PromptSpan> spans;
  if (messages.front().role != "system" && !known->default_system.empty()) {
    append_message(spans, "system", known->default_system, true);
  }
  for (const Message& message : messages) {
    append_message(spans, message.role, message.content, false);
  }
  spans.push_back({"<|im_start|>assistant\n", true});
  return spans;
}

}  // namespace minfer::chat
