#include "options.h"

#include <cstdlib>

namespace minfer::app {
namespace {

constexpr std::uint32_t kTalk = kRun | kChat;
constexpr std::uint32_t kSessionCommands = kTalk | kLogits | kPrime;
constexpr std::uint32_t kModelCommands = kSessionCommands | kBench;
constexpr double kMaxInt = 2147483647;
constexpr double kMaxContext = 1 << 30;  // that of a model file

// clang-format off
const OptionRow kOptions[] = {
  // name, short, commands, target, value, low, high, default, help, group
  {"predict", 'n', kTalk, &Options::predict, "N", -1, kMaxInt, "-1", "stop after N tokens; -1: when the model ends (512 for raw prompts)", "Length"},
  {"ctx-size", 'c', kModelCommands | kInfo, &Options::ctx_size, "N", 0, kMaxContext, "auto", "positions in the context; auto: what the model was trained for, if memory allows", "Length"},
  {"choices", 0, kRun, &Options::choices, "N", 1, 256, "1", "N answers from one prefill, drawn side by side", "Length"},
  {"ignore-eos", 0, kTalk, &Options::ignore_eos, "", 0, 0, "off", "never draw an end-of-generation token", "Length"},
  {"stop", 0, kTalk, &Options::stops, "STR", 0, 0, "none", "end the answer before this text (repeatable)", "Length"},

  {"grammar", 0, kTalk, &Options::grammar, "FILE", 0, 0, "none", "the answer follows this GBNF grammar (docs/grammar.md)", "Structured output"},
  {"grammar-str", 0, kTalk, &Options::grammar_str, "GBNF", 0, 0, "none", "the grammar itself in place of a file", "Structured output"},
  {"json-schema", 0, kTalk, &Options::json_schema, "FILE", 0, 0, "none", "the answer is JSON that fits this JSON Schema (docs/json-schema.md)", "Structured output"},
  {"json-schema-str", 0, kTalk, &Options::json_schema_str, "SCHEMA", 0, 0, "none", "the schema itself in place of a file", "Structured output"},
  {"json-object", 0, kTalk, &Options::json_object, "", 0, 0, "off", "the answer is one JSON object", "Structured output"},

  {"file", 'f', kRun | kTokenize | kPrime, &Options::files, "FILE", 0, 0, "none", "add a file to the prompt, - is standard input (repeatable)", "Prompt"},
  {"no-stdin", 0, kRun | kPrime, &Options::no_stdin, "", 0, 0, "off", "leave a pipe on standard input unread", "Prompt"},
  {"system", 0, kTalk | kPrime, &Options::system, "STR", 0, 0, "none", "system text before the prompt", "Prompt"},
  {"raw", 0, kRun | kPrime, &Options::raw, "", 0, 0, "off", "the prompt as it is, without the model's chat template", "Prompt"},
  {"chat-template", 0, kTalk | kRender | kPrime, &Options::chat_template, "TEMPLATE", 0, 0, "none", "in place of the model's own: one of its named ones, a built-in one (alpaca, chatml, command-r, deepseek, gemma, glm4, granite, llama2, llama3, llama4, mistral, mistral-v7, openchat, phi3, phi4, vicuna, zephyr), a file, or text with {% or {{", "Prompt"},
  {"chat-template-kwargs", 0, kTalk | kRender | kPrime, &Options::chat_template_kwargs, "JSON", 0, 0, "none", "further variables for the template", "Prompt"},
  {"tools", 0, kRun, &Options::tools, "F.json", 0, 0, "none", "functions that the model may call, as API clients send them; calls are printed as JSON, a line each", "Prompt"},
  {"tool-choice", 0, kRun, &Options::tool_choice, "CHOICE", 0, 0, "none", "auto, none, required, or the name of the one to call", "Prompt"},
  {"reasoning", 0, kTalk, &Options::reasoning, "auto|on|off", 0, 0, "auto", "whether the model thinks before it answers, where its template lets one choose", "Prompt"},
  {"reasoning-budget", 0, kTalk, &Options::reasoning_budget, "N", -1, kMaxInt, "-1", "end a thought after N tokens; -1: no bound", "Prompt"},
  {"session", 0, kTalk, &Options::session, "FILE", 0, 0, "none", "keep the conversation in this file and go on from it", "Chat"},
  {"single-turn", 0, kChat, &Options::single_turn, "", 0, 0, "off", "answer one message and leave", "Chat"},
  {"multiline-input", 0, kChat, &Options::multiline_input, "", 0, 0, "off", "a message goes on until an empty line", "Chat"},
  {"no-history", 0, kChat, &Options::no_history, "", 0, 0, "off", "neither read nor write the file of what was typed", "Chat"},
  {"no-typeahead", 0, kChat, &Options::no_typeahead, "", 0, 0, "off", "do not prefill a message while it is typed", "Chat"},
  {"messages", 0, kRun | kRender, &Options::messages, "F.json", 0, 0, "none", "the messages as API clients send them, or the whole body of a request (messages, tools, chat_template_kwargs)", "Prompt"},
  {"context", 0, kRender, &Options::context, "F.json", 0, 0, "none", "all variables of the template, in place of messages", "Render"},
  {"now", 0, kRender, &Options::now, "TIME", 0, 0, "none", "the time of strftime_now in place of the clock, as in \"2026-03-14 15:09:26\"", "Render"},

#define MINFER_SAMPLER_NUMBER(field, type, default_value, low, high, option, value, key, help) \
  {option, 0, kTalk, &Options::field, value, low, high, #default_value, help, "Sampling"},
#include "sampling/sampler_numbers.def"
#undef MINFER_SAMPLER_NUMBER
  {"logit-bias", 0, kTalk, &Options::logit_bias, "ID:B", 0, 0, "none", "add B to the logit of token ID (repeatable)", "Sampling"},
  {"dry-sequence-breaker", 0, kTalk, &Options::dry_sequence_breakers, "STR", 0, 0, "none", "DRY sees no repetition across this text (repeatable, in place of newline, colon, quotation mark and asterisk; none: there is no such text)", "Sampling"},
  {"greedy", 0, kTalk, &Options::greedy, "", 0, 0, "off", "temperature 0, all penalties off", "Sampling"},
  {"seed", 's', kTalk, &Options::seed, "N", -1, 9007199254740992.0, "42", "seed of the draws; -1 takes a random one", "Sampling"},
  {"sampling", 0, kTalk, &Options::sampling, "file|builtin", 0, 0, "file", "defaults from the model file's general.sampling keys, or the built-in ones", "Sampling"},

  {"threads", 't', kSessionCommands, &Options::threads, "N", 0, 1024, "auto", "threads; auto: affinity, cgroup quota and physical cores, the least", "Engine"},
  {"batch-size", 0, kModelCommands, &Options::batch_size, "N", 1, 4096, "512", "tokens run at once in prefill; changes no bit of the result", "Engine"},
  {"kv-type", 0, kSessionCommands | kInfo, &Options::kv_type, "f32|f16|q8_0", 0, 0, "f16", "element type of the KV cache", "Engine"},
  {"no-repack", 0, kModelCommands, &Options::no_repack, "", 0, 0, "off", "keep the weights in the order of the file: less memory, slower, the same result", "Engine"},
  {"spec", 0, kTalk, &Options::spec, "MODE", 0, 0, "auto", "guess tokens ahead and check them in one forward; never changes the text. lookup: from what the text repeats; auto: lookup while it saves time; off; or the file of a draft model", "Engine"},
  {"spec-n", 0, kTalk, &Options::spec_n, "N", 1, 31, "31", "guess at most N tokens ahead", "Engine"},
  {"prefix", 0, kTalk, &Options::prefix, "P.kv", 0, 0, "none", "start from what `minfer prime` (or a session) computed, as far as the prompt begins like it; never changes the text", "Engine"},
  {"gpu-layers", 0, kModelCommands, &Options::gpu_layers, "LAYERS", 0, 0, "auto", "layers that a GPU holds: a number, auto or all; a note where the build has no GPU backend", "Engine"},
  {"backend", 0, kModelCommands, &Options::backend, "LIST", 0, 0, "auto", "backends to use, the first that can run an operation runs it", "Engine"},
  {"check-tensors", 0, kModelCommands | kInfo, &Options::check_tensors, "", 0, 0, "off", "read every weight once and refuse one that is not finite", "Engine"},

  {"quiet", 'q', kModelCommands, &Options::quiet, "", 0, 0, "off", "no header, progress or summary; errors stay", "Output"},
  {"hide-reasoning", 0, kTalk, &Options::hide_reasoning, "", 0, 0, "off", "show that the model thinks, not what", "Output"},
  {"color", 0, kTalk, &Options::color, "auto|on|off", 0, 0, "auto", "colours; auto: on a terminal, unless NO_COLOR is set", "Output"},
  {"json", 0, kRun | kTokenize | kInfo, &Options::json, "", 0, 0, "off", "one JSON object on stdout", "Output"},
  {"dump-graph", 0, kRun, &Options::dump_graph, "F.dot", 0, 0, "none", "write the graph that would run, for Graphviz, and exit", "Output"},
  {"dump-graph-json", 0, kRun, &Options::dump_graph_json, "F.json", 0, 0, "none", "the same as JSON", "Output"},

  {"ids", 0, kTokenize | kRender, &Options::ids, "", 0, 0, "off", "ids only, on one line", "Tokenize"},
  {"no-special", 0, kTokenize, &Options::no_special, "", 0, 0, "off", "control tokens are neither parsed nor added", "Tokenize"},
  {"decode", 0, kTokenize, &Options::decode, "", 0, 0, "off", "TEXT holds ids: print their text", "Tokenize"},

  {"tokens", 0, kLogits, &Options::tokens, "IDS", 0, 0, "none", "ids to run, separated by commas", "Logits"},
  {"all", 0, kLogits | kInfo, &Options::all, "", 0, 0, "off", "logits: every position; info: every key", "Output"},
  {"out", 0, kLogits, &Options::out, "FILE", 0, 0, "none", "write raw little-endian f32 [n][n_vocab]; - is stdout", "Logits"},
  {"output", 'o', kPrime, &Options::out, "P.kv", 0, 0, "none", "the file to write, for --prefix", "Prime"},
  {"top", 0, kLogits, &Options::top, "N", 1, 1000, "10", "how many of the largest to list", "Logits"},

  {"n-prompt", 'p', kBench, &Options::bench_prompt, "N,...", 0, 1 << 20, "512", "tokens of the prefill test; 0 leaves it out", "Bench"},
  {"n-gen", 'n', kBench, &Options::bench_gen, "N,...", 0, 1 << 20, "128", "steps of the decode test; 0 leaves it out", "Bench"},
  {"depth", 'd', kBench, &Options::bench_depth, "N,...", 0, 1 << 20, "0", "tokens in the KV before a test, filled in untimed", "Bench"},
  {"parallel", 0, kBench, &Options::bench_parallel, "N,...", 1, 1024, "1", "sequences that are decoded together, a token each a step", "Bench"},
  {"threads", 't', kBench, &Options::bench_threads, "N,...", 0, 1024, "auto", "threads; auto: affinity, cgroup quota and physical cores, the least", "Bench"},
  {"kv-type", 0, kBench, &Options::bench_kv_types, "f32|f16|q8_0,...", 0, 0, "f16", "element types of the KV cache", "Bench"},
  {"repetitions", 'r', kBench, &Options::repetitions, "N", 1, 1000, "5", "repetitions of each test", "Bench"},
  {"output", 'o', kBench, &Options::output_format, "md|csv|json", 0, 0, "md", "how the table is printed", "Bench"},
};
// clang-format on

constexpr Alias kAliases[] = {
    {"-m", "--model"},
    {"-p", "--prompt"},
    {"-sys", "--system"},
    {"-ctk", "--kv-type"},
    {"-np", "--parallel"},
    {"-cnv", "chat"},
    {"--cnv", "chat"},
    {"--conversation", "chat"},
    {"-st", "--single-turn"},
    {"-mli", "--multiline-input"},
    {"-ngl", "--gpu-layers"},
    {"--n-gpu-layers", "--gpu-layers"},
    {"--n-ctx", "--ctx-size"},
    {"--n-predict", "--predict"},
    {"--no-template", "--raw"},
    {"--temperature", "--temp"},
    {"--typical-p", "--typical"},
    {"--top-nsigma", "--top-n-sigma"},
    {"--mirostat-ent", "--mirostat-tau"},
    {"--mirostat-lr", "--mirostat-eta"},
};

constexpr std::string_view kNoDownloads =
    "this version fetches no models: give the path of a GGUF file";
constexpr std::string_view kNoCommand =
    "is not a command of this version (minfer --help lists those it has), nor a file";

constexpr Answer kAnswers[] = {
    {"-hf", kNoDownloads},       {"--hf-repo", kNoDownloads}, {"-hff", kNoDownloads},
    {"--hf-file", kNoDownloads}, {"serve", kNoCommand},       {"batch", kNoCommand},
    {"list", kNoCommand},        {"pull", kNoCommand},        {"rm", kNoCommand},
    {"quantize", kNoCommand},    {"imatrix", kNoCommand},     {"convert", kNoCommand},
    {"split", kNoCommand},       {"merge", kNoCommand},       {"perplexity", kNoCommand},
    {"embed", kNoCommand},       {"verify", kNoCommand},      {"view", kNoCommand},
    {"completion", kNoCommand},
};

constexpr CommandRow kCommands[] = {
    {"", kRun, "minfer MODEL [PROMPT] [options]", "answer one prompt", "model prompt"},
    {"chat", kChat, "minfer chat MODEL [PROMPT] [options]",
     "a conversation; also without PROMPT on a terminal", "model prompt"},
    {"tokenize", kTokenize, "minfer tokenize MODEL [TEXT] [options]", "text to token ids and back",
     "model prompt"},
    {"logits", kLogits, "minfer logits MODEL --tokens 1,2,3 [options]", "the model's raw outputs",
     "model"},
    {"info", kInfo, "minfer info MODEL [options]", "what is in a model file", "model"},
    {"render", kRender, "minfer render MODEL --messages F.json [options]",
     "the exact prompt of a conversation", "model"},
    {"prime", kPrime, "minfer prime MODEL [TEXT] -f F -o P.kv [options]",
     "compute the beginning of prompts once, for --prefix", "model prompt"},
    {"bench", kBench, "minfer bench MODEL [options]", "speed of prefill and decode", "model"},
};

constexpr EnvSwitchRow kEnvSwitches[] = {
    {"MINFER_ISA",
     "force an instruction set: scalar; avx2, avxvnni, avx512, avx512vnni, amx (x86-64); neon, "
     "dotprod, i8mm (arm64)"},
    {"MINFER_TIMING", "time of sampling and forward, a line a token"},
    {"MINFER_OP_TIMING", "time by operation and type at the end, with GB/s and GFLOP/s"},
    {"MINFER_GRAPH_TRACE", "split layout and operations, a line set a forward"},
    {"MINFER_REBUILD_TRACE", "times of each graph build, and which parameter changed"},
    {"MINFER_GRAPH_DUMP", "a folder for logits and KV of each step"},
    {"MINFER_NO_FUSE_QKV", "run the query, key and value projections unfused"},
    {"MINFER_NO_FUSE_FFN", "run the feed-forward projections unfused"},
};

std::string env_text(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || std::string_view(value) == "0") return {};
  return value;
}

}  // namespace

std::span<const OptionRow> option_table() { return kOptions; }
std::span<const Alias> alias_table() { return kAliases; }
std::span<const Answer> answer_table() { return kAnswers; }
std::span<const CommandRow> command_table() { return kCommands; }
std::span<const EnvSwitchRow> env_switch_table() { return kEnvSwitches; }

EnvSwitches read_env_switches() {
  EnvSwitches env;
  env.timing = !env_text("MINFER_TIMING").empty();
  env.op_timing = !env_text("MINFER_OP_TIMING").empty();
  env.graph_trace = !env_text("MINFER_GRAPH_TRACE").empty();
  env.rebuild_trace = !env_text("MINFER_REBUILD_TRACE").empty();
  env.graph_dump = env_text("MINFER_GRAPH_DUMP");
  env.no_fuse_qkv = !env_text("MINFER_NO_FUSE_QKV").empty();
  env.no_fuse_ffn = !env_text("MINFER_NO_FUSE_FFN").empty();
  env.isa = env_text("MINFER_ISA");
  return env;
}

}  // namespace minfer::app
