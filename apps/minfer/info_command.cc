// minfer info MODEL: what is in the file, and what it needs.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json_writer.h"
#include "base/memory.h"
#include "base/printable.h"
#include "chat_prompt.h"
#include "commands.h"
#include "cpu/cpu_backend.h"
#include "engine/context_size.h"
#include "load.h"
#include "terminal.h"

namespace minfer::app {
namespace {

struct TypeCount {
  std::size_t tensors = 0;
  std::uint64_t bytes = 0;
};

std::map<std::string, TypeCount> type_census(const model::Model& model) {
  std::map<std::string, TypeCount> census;
  for (const gguf::TensorInfo& tensor : model.file().tensors()) {
    TypeCount& count = census[std::string(dtype_name(tensor.dtype))];
    ++count.tensors;
    count.bytes += tensor.size_bytes;
  }
  return census;
}

std::string_view vocab_kind_name(text::VocabKind kind) {
  switch (kind) {
    case text::VocabKind::kNone:
      return "none";
    case text::VocabKind::kByteBpe:
      return "byte-level BPE";
    case text::VocabKind::kSpm:
      return "SPM";
    case text::VocabKind::kWordPiece:
      return "WordPiece";
  }
  return "unknown";
}

/// The model's templates, or why there are none.
struct Templates {
  std::string state;
  std::vector<std::string> names;  // of those beside the main one
  std::optional<chat::ChatTemplate> chat;
};

Result<Templates> templates_of(const model::Model& model) {
  MINFER_ASSIGN_OR_RETURN(chat::TemplateSources sources,
                          template_sources(Options(), &model.file(), model.tokenizer()));
  Templates out;
  for (const auto& [name, source] : sources.named) out.names.push_back(name);
  if (sources.empty()) {
    out.state = "none: prompts are completed as they are";
    return out;
  }
  auto chat = chat::ChatTemplate::create(std::move(sources));
  if (!chat.ok()) {
    out.state = chat.status().message();
    return out;
  }
  out.state = fmt::format("{} bytes of Jinja", chat->source(false).size());
  out.chat = std::move(*chat);
  return out;
}

std::string known(const chat::Abilities& abilities) {
  std::vector<std::string_view> words;
#define ABILITY(name, missed, text) \
  if (abilities.name) words.push_back(text);
#include "chat/abilities.def"
#undef ABILITY
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string missed(const chat::Abilities& abilities) {
  std::vector<std::string_view> words;
#define ABILITY(name, missed, text) \
  if (missed && !abilities.name) words.push_back(text);
#include "chat/abilities.def"
#undef ABILITY
  return fmt::format("{}", fmt::join(words, ", "));
}

void write_abilities(JsonWriter& json, const chat::Abilities& abilities) {
  json.begin_object();
#define ABILITY(name, missed, text) json.key(#name).boolean(abilities.name);
#include "chat/abilities.def"
#undef ABILITY
  json.key("generation_prompt").string(abilities.generation_prompt);
  json.end_object();
}

void write_templates(JsonWriter& json, const Templates& templates) {
  json.key("template").string(templates.state);
  json.key("template_names").begin_array();
  for (const std::string& name : templates.names) json.string(name);
  json.end_array();
  if (!templates.chat) return;
  json.key("template_abilities");
  write_abilities(json, templates.chat->abilities(false));
  if (!templates.chat->has_tool_template()) return;
  json.key("tool_template_abilities");
  write_abilities(json, templates.chat->abilities(true));
}

std::span<const std::string> warnings_of(const model::Model& model) {
  const text::Tokenizer* tokenizer = model.tokenizer();
  return tokenizer != nullptr ? tokenizer->warnings() : std::span<const std::string>();
}

struct Memory {
  std::int32_t n_ctx = 0;
  std::string reason;
  std::uint64_t kv_bytes = 0;
};

Result<Memory> memory_needed(const model::Model& model, const Options& options) {
  MINFER_ASSIGN_OR_RETURN(const backend::KvFormat format,
                          backend::kv_format_from_name(options.kv_type));
  MINFER_ASSIGN_OR_RETURN(const auto cpu, cpu::make_cpu_backend({.n_threads = 1}));
  engine::ContextRequest request;
  request.wanted = options.ctx_size;
  request.trained = model.hparams().n_ctx_train;
  request.weight_bytes = model.weight_bytes();
  request.kv_bytes_per_position = model.kv_bytes_per_position(*cpu, format);
  request.memory = memory_limit();
  MINFER_ASSIGN_OR_RETURN(const engine::ContextChoice context, engine::choose_context(request));
  return Memory{context.n_ctx, context.reason,
                static_cast<std::uint64_t>(context.n_ctx) * request.kv_bytes_per_position};
}

std::string heads_text(const model::HParams& hp) {
  const auto [low, high] = std::ranges::minmax(hp.layers, {}, &model::LayerHParams::n_head);
  const std::string heads = low.n_head == high.n_head
                                ? fmt::format("{}", low.n_head)
                                : fmt::format("{}..{}", low.n_head, high.n_head);
  return fmt::format("{} of {} ({} for K and V)", heads, hp.head_dim, hp.layers[0].n_head_kv);
}

template <class Line>
void template_lines(const Templates& templates, const Line& line) {
  line("template", printable(templates.state));
  for (const bool with_tools : {false, true}) {
    if (!templates.chat || (with_tools && !templates.chat->has_tool_template())) continue;
    const chat::Abilities& abilities = templates.chat->abilities(with_tools);
    if (with_tools) line("", "with tools, tool_use:");
    if (abilities.usable) line("  shows", known(abilities));
    if (const std::string words = missed(abilities); !words.empty()) line("  lacks", words);
    if (!with_tools && abilities.usable && !abilities.system_role)
      line("", "system text goes before the first user message");
  }
  if (!templates.names.empty())
    line("  also", printable(fmt::format("{}", fmt::join(templates.names, ", "))));
}

std::string as_text(const model::Model& model, const Memory& memory, const Templates& templates) {
  const model::HParams& hp = model.hparams();
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<14}{}\n", name, value);
  };
  line("name", printable(model.display_name()));
  line("architecture", std::string(model.arch_name()));
  line("type", std::string(model.type_name()));
  line("parameters", fmt::format("{:.1f} M", static_cast<double>(model.n_params()) / 1e6));
  line("size", megabytes(model.weight_bytes()));
  line("layers", fmt::format("{}, n_embd {}, n_ff {}", hp.n_layer, hp.n_embd, hp.layers[0].n_ff));
  line("heads", heads_text(hp));
  if (hp.n_expert > 0) line("experts", fmt::format("{}, {} used", hp.n_expert, hp.n_expert_used));
  line("vocabulary", fmt::format("{} tokens", hp.n_vocab));
  if (const text::Tokenizer* tokenizer = model.tokenizer(); tokenizer != nullptr) {
    const text::Vocab& vocab = tokenizer->vocab();
    line("tokenizer",
         fmt::format("{}{}, end of generation {}", vocab_kind_name(vocab.kind()),
                     vocab.pre().empty() ? "" : fmt::format(" ({})", printable(vocab.pre())),
                     fmt::join(vocab.end_of_generation(), " ")));
  }
  for (const std::string& warning : warnings_of(model)) line("warning", warning);
  template_lines(templates, line);
  line("context",
       fmt::format("{} trained, {} here ({})", hp.n_ctx_train, memory.n_ctx, memory.reason));
  line("memory", fmt::format("{} weights + {} KV at {} positions", megabytes(model.weight_bytes()),
                             megabytes(memory.kv_bytes), memory.n_ctx));
  for (const auto& [name, count] : type_census(model)) {
    line("",
         fmt::format("{:<8}{:>5} tensors  {:>10}", name, count.tensors, megabytes(count.bytes)));
  }
  return text;
}

std::string all_keys(const model::Model& model) {
  std::string text = "\n";
  for (const gguf::Entry& entry : model.file().metadata()) {
    text += fmt::format("{} = {}\n", printable(entry.key), entry.value.to_string());
  }
  text += "\n";
  for (const gguf::TensorInfo& tensor : model.file().tensors()) {
    text += fmt::format("{:<40} {:<7} {}\n", printable(tensor.name), dtype_name(tensor.dtype),
                        tensor.shape.to_string());
  }
  return text;
}

std::string as_json(const model::Model& model, const Memory& memory, const Templates& templates,
                    bool all) {
  const model::HParams& hp = model.hparams();
  JsonWriter json;
  json.begin_object();
  json.key("name").string(model.display_name());
  json.key("architecture").string(model.arch_name());
  json.key("type").string(model.type_name());
  json.key("n_params").unsigned_integer(model.n_params());
  json.key("size_bytes").unsigned_integer(model.weight_bytes());
  json.key("n_layer").integer(hp.n_layer);
  json.key("n_embd").integer(hp.n_embd);
  json.key("n_head").integer(hp.layers[0].n_head);
  json.key("n_head_kv").integer(hp.layers[0].n_head_kv);
  json.key("head_dim").integer(hp.head_dim);
  json.key("n_vocab").integer(hp.n_vocab);
  json.key("n_ctx_train").integer(hp.n_ctx_train);
  json.key("n_ctx").integer(memory.n_ctx);
  json.key("kv_bytes").unsigned_integer(memory.kv_bytes);
  write_templates(json, templates);
  json.key("tensor_types").begin_object();
  for (const auto& [name, count] : type_census(model)) {
    json.key(name).unsigned_integer(count.tensors);
  }
  json.end_object();
  json.key("warnings").begin_array();
  for (const std::string& warning : warnings_of(model)) json.string(warning);
  json.end_array();
  if (all) {
    json.key("metadata").begin_object();
    for (const gguf::Entry& entry : model.file().metadata()) {
      json.key(entry.key).string(entry.value.to_string());
    }
    json.end_object();
    json.key("tensors").begin_array();
    for (const gguf::TensorInfo& tensor : model.file().tensors()) {
      json.begin_object();
      json.key("name").string(tensor.name);
      json.key("type").string(dtype_name(tensor.dtype));
      json.key("shape").begin_array();
      for (int axis = 0; axis < tensor.shape.rank(); ++axis) json.integer(tensor.shape[axis]);
      json.end_array();
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
  return json.text() + "\n";
}

}  // namespace

Result<int> info_command(const Invocation& invocation, const EnvSwitches&) {
  const Options& options = invocation.options;
  model::LoadOptions load_options;
  load_options.check_tensors = options.check_tensors;
  MINFER_ASSIGN_OR_RETURN(const auto model, model::Model::load(options.model, load_options));
  MINFER_ASSIGN_OR_RETURN(const Memory memory, memory_needed(*model, options));
  MINFER_ASSIGN_OR_RETURN(const Templates templates, templates_of(*model));
  Output out;
  if (options.json) {
    out.write(as_json(*model, memory, templates, options.all));
  } else {
    out.write(as_text(*model, memory, templates));
    if (options.all) out.write(all_keys(*model));
  }
  MINFER_RETURN_IF_ERROR(out.status());
  return 0;
}

}  // namespace minfer::app
