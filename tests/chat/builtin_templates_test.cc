#include "chat/builtin_templates.h"

#include <gtest/gtest.h>

#include <map>

#include "chat/chat_template.h"

namespace minfer::chat {
namespace {

std::string prompt_of(std::string_view source, std::string_view messages) {
  const auto chat = ChatTemplate::create({std::string(source), {}, {"<s>", "</s>"}});
  if (!chat.ok()) return "ERROR " + chat.status().message();
  Conversation conversation;
  conversation.messages = *parse_json(messages);
  const auto spans = chat->render(conversation, {});
  if (!spans.ok()) return "ERROR " + spans.status().message();
  std::string text;
  for (const PromptSpan& span : *spans) text += span.text;
  return text;
}

const std::map<std::string_view, std::string_view>& expected() {
  static const std::map<std::string_view, std::string_view> kExpected = {
      {"alpaca",
       "S\n\n### Instruction:\nU\n\n### Response:\nA</s>\n\n### Instruction:\nV\n\n"
       "### Response:\n"},
      {"chatml",
       "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>"
       "assistant\nA<|im_end|>\n<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n"},
      {"command-r",
       "<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>S<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|>"
       "<|USER_TOKEN|>U<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>A"
       "<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|USER_TOKEN|>V<|END_OF_TURN_TOKEN|>"
       "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"},
      {"deepseek", "S<｜User｜>U<｜Assistant｜>A<｜end▁of▁sentence｜><｜User｜>V<｜Assistant｜>"},
      {"gemma",
       "<start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n"
       "<start_of_turn>user\nV<end_of_turn>\n<start_of_turn>model\n"},
      {"glm4", "[gMASK]<sop><|system|>\nS<|user|>\nU<|assistant|>\nA<|user|>\nV<|assistant|>\n"},
      {"granite",
       "<|start_of_role|>system<|end_of_role|>S<|end_of_text|>\n<|start_of_role|>user<|end_of_role|"
       ">"
       "U<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>A<|end_of_text|>\n"
       "<|start_of_role|>user<|end_of_role|>V<|end_of_text|>\n<|start_of_role|>assistant"
       "<|end_of_role|>"},
      {"llama2", "[INST] <<SYS>>\nS\n<</SYS>>\n\nU [/INST] A </s><s>[INST] V [/INST]"},
      {"llama3",
       "<|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user"
       "<|end_header_id|>\n\nU<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nA<|eot_id|"
       ">"
       "<|start_header_id|>user<|end_header_id|>\n\nV<|eot_id|><|start_header_id|>assistant"
       "<|end_header_id|>\n\n"},
      {"llama4",
       "<|header_start|>system<|header_end|>\n\nS<|eot|><|header_start|>user<|header_end|>\n\nU"
       "<|eot|><|header_start|>assistant<|header_end|>\n\nA<|eot|><|header_start|>user<|header_end|"
       ">"
       "\n\nV<|eot|><|header_start|>assistant<|header_end|>\n\n"},
      {"mistral", "[INST] S\n\nU[/INST] A</s>[INST] V[/INST]"},
      {"mistral-v7", "[SYSTEM_PROMPT]S[/SYSTEM_PROMPT][INST]U[/INST]A</s>[INST]V[/INST]"},
      {"openchat",
       "S<|end_of_turn|>GPT4 Correct User: U<|end_of_turn|>GPT4 Correct Assistant: A"
       "<|end_of_turn|>GPT4 Correct User: V<|end_of_turn|>GPT4 Correct Assistant:"},
      {"phi3",
       "<|system|>\nS<|end|>\n<|user|>\nU<|end|>\n<|assistant|>\nA<|end|>\n<|user|>\nV<|end|>"
       "\n<|assistant|>\n"},
      {"phi4",
       "<|im_start|>system<|im_sep|>S<|im_end|><|im_start|>user<|im_sep|>U<|im_end|>"
       "<|im_start|>assistant<|im_sep|>A<|im_end|><|im_start|>user<|im_sep|>V<|im_end|>"
       "<|im_start|>assistant<|im_sep|>"},
      {"vicuna", "S\n\nUSER: U\nASSISTANT: A</s>\nUSER: V\nASSISTANT:"},
      {"zephyr",
       "<|system|>\nS</s>\n<|user|>\nU</s>\n<|assistant|>\nA</s>\n<|user|>\nV</s>\n"
       "<|assistant|>\n"},
  };
  return kExpected;
}

TEST(BuiltinTemplates, WriteTheirFormat) {
  EXPECT_EQ(builtin_templates().size(), expected().size());
  for (const BuiltinTemplate& one : builtin_templates()) {
    const auto row = expected().find(one.name);
    ASSERT_NE(row, expected().end()) << one.name;
    EXPECT_EQ(prompt_of(one.source, R"([{"role": "system", "content": "S"},
        {"role": "user", "content": "U"}, {"role": "assistant", "content": "A"},
        {"role": "user", "content": "V"}])"),
              row->second)
        << one.name;
    EXPECT_EQ(find_builtin_template(one.name), one.source);
  }
  EXPECT_EQ(find_builtin_template("chatmI"), "");
}

// A reply that is continued ends the prompt, and no blank or newline of the template's follows.
TEST(BuiltinTemplates, ContinueAReply) {
  for (const BuiltinTemplate& one : builtin_templates()) {
    const std::string text = prompt_of(one.source, R"([{"role": "user", "content": "U"},
        {"role": "assistant", "content": "It is "}])");
    EXPECT_TRUE(text.ends_with("It is ")) << one.name << ": " << text;
  }
}

}  // namespace
}  // namespace minfer::chat
