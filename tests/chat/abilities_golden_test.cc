// What the probe finds in the templates under golden/templates, read off by a person and checked
// against their source.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "chat/abilities.h"
#include "tests/chat/golden_folder.h"

namespace minfer::chat {
namespace {

/// A letter for each ability that holds, in the order of abilities.def.
std::string letters(const Abilities& abilities) {
  std::string out;
  const char* letter = "UsSLTCPRneabiERK";
#define ABILITY(name, missed, words)  \
  if (abilities.name) out += *letter; \
  ++letter;
#include "chat/abilities.def"
#undef ABILITY
  return out;
}

const std::map<std::string, std::string>& expected() {
  static const std::map<std::string, std::string> kExpected = {
      {"Apertus-8B-Instruct", "UsTCPRnebEK"},
      {"Apriel-1.6-15b-Thinker-fixed", "UsSTCPRnebK"},
      {"Bielik-11B-v3.0-Instruct", "UsTCPRebERK"},
      {"Cohere2MoE", "UsSTCPRnebRK"},
      {"CohereForAI-c4ai-command-r-plus-tool_use", "UsSTCPRnebK"},
      {"GLM-4.7-Flash", "UsSTCPRneER"},
      {"GigaChat3-10B-A1.8B", "UsSTCRnebK"},
      {"GigaChat3.1-10B-A1.8B", "UsSTCRnebK"},
      {"HuggingFaceTB-SmolLM3-3B", "UsREK"},
      {"Kimi-K2-Instruct", "UsSTRK"},
      {"Kimi-K3", "UsSTCPRnebRK"},
      {"LFM2-8B-A1B", "UsSTRK"},
      {"LFM2.5-8B-A1B", "UsSTCPReR"},
      {"MiniMax-M1", "UsTCPRnebK"},
      {"MiniMax-M3", "UsTCPRneRK"},
      {"Mistral-Small-3.2-24B-Instruct-2506", "UsTCPRnebiK"},
      {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "UsSTCPRneER"},
      {"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "UsSTCPRnebK"},
      {"NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "UsSTCPRnebK"},
      {"Qwen-QwQ-32B", "UsSTCPRebE"},
      {"Qwen-Qwen2.5-7B-Instruct", "UsSTCPRnebK"},
      {"Qwen-Qwen3-0.6B", "UsSTCPRebER"},
      {"Qwen3-Coder", "UsSTCPRneK"},
      {"Reka-Edge", "UsTCPRnebE"},
      {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "UsSCPRnab"},
      {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "UsSCPRnebE"},
      {"deepseek-ai-DeepSeek-V3.1", "UsSCPRnebE"},
      {"deepseek-ai-DeepSeek-V4", "UsSTCPRneEK"},
      {"deepseek-ai-DeepSeek-V4-Flash-0731", "UsSTCPRneEK"},
      {"fireworks-ai-llama-3-firefunction-v2", ""},
      {"google-gemma-2-2b-it", "UK"},
      {"google-gemma-4-31B-it-interleaved", "UsSTCPRnebERK"},
      {"ibm-granite-granite-3.3-2B-Instruct", "UsSTRK"},
      {"ibm-granite-granite-4.1", "UsSTCPRnebK"},
      {"inclusionai-ling-3.0-flash", "UsSTCPRneERK"},
      {"llama-cpp-deepseek-r1", "UsSTCPRneb"},
      {"llama-cpp-rwkv-world", "UsSE"},
      {"meetkai-functionary-medium-v3.1", "UsSTCPRnebK"},
      {"meetkai-functionary-medium-v3.2", "UsSTCPRneabK"},
      {"meta-llama-Llama-3.1-8B-Instruct", "UsSTCRnebK"},
      {"meta-llama-Llama-3.3-70B-Instruct", "UsSTCRnebK"},
      {"microsoft-Phi-3.5-mini-instruct", "UsSK"},
      {"mistralai-Mistral-Nemo-Instruct-2407", "UsTCPRnebiK"},
      {"moonshotai-Kimi-K2", "UsSTCPRnebK"},
      {"muse-glimmer", "UsSTCPRneRK"},
      {"openai-gpt-oss-120b", "UsTCRebRK"},
      {"openbmb-MiniCPM5-1B", "UsSTCPRneER"},
      {"poolside-Laguna-S-2.1", "UsSTCPRneERK"},
      {"poolside-Laguna-XS-2.1", "UsSTCPRneERK"},
      {"unsloth-mistral-Devstral-Small-2507", "UsSTCPRebK"},
  };
  return kExpected;
}

TEST(ChatAbilitiesGolden, EveryTemplate) {
  const std::filesystem::path folder = golden_templates();
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no golden data at " << folder;
  std::size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".jinja") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::ostringstream source;
    source << in.rdbuf();
    const auto parsed = Template::parse(source.str());
    const std::string name = entry.path().stem();
    if (!parsed.ok()) continue;
    ++n;
    const auto row = expected().find(name);
    ASSERT_NE(row, expected().end())
        << name << " has " << letters(probe_template(*parsed, {"<s>", "</s>"}));
    EXPECT_EQ(letters(probe_template(*parsed, {"<s>", "</s>"})), row->second) << name;
  }
  EXPECT_EQ(n, expected().size());
}

}  // namespace
}  // namespace minfer::chat
