// Options: every setting of the command line, in one struct, and the one table that describes them.
//
// Owns: the table. The parser, --help, the configuration file, the environment (MINFER_ARG_NAME)
// and docs/options.md are all made from it.
// Thread-safety: values and constants.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sampling/sampler_options.h"

namespace minfer::app {

/// The commands, as bits: an option says where it holds.
enum CommandBit : std::uint32_t {
  kRun = 1,  // minfer MODEL [PROMPT]
  kTokenize = 2,
  kLogits = 4,
  kInfo = 8,
  kBench = 16,
  kRender = 32,
  kChat = 64,
  kPrime = 128,
};

/// Values separated by commas on the command line.
template <class T>
struct ListOf {
  std::vector<T> items;
};
using NumberList = ListOf<std::int32_t>;
using ChoiceList = ListOf<std::string>;

/// The sampler's numbers are of sampling/sampler_numbers.def.
struct Options : sampling::SamplerNumbers {
  // what to run
  std::string model;
  std::string prompt;  // PROMPT of run, TEXT of tokenize
  bool has_prompt = false;
  std::vector<std::string> files;
  bool no_stdin = false;

  // how much
  std::int32_t predict = -1;
  std::int32_t ctx_size = 0;
  std::int32_t threads = 0;
  std::int32_t batch_size = 512;
  std::string kv_type = "f16";
  std::string spec = "auto";
  std::int32_t spec_n = 31;
  bool check_tensors = false;
  bool no_repack = false;
  std::string gpu_layers = "auto";
  std::string backend = "auto";

  // sampling
  std::int64_t seed = 42;
  std::vector<std::string> logit_bias;
  std::vector<std::string> dry_sequence_breakers;
  bool greedy = false;
  bool ignore_eos = false;
  std::string sampling = "file";
  std::vector<std::string> stops;
  std::string grammar;
  std::string grammar_str;
  std::string json_schema;
  std::string json_schema_str;
  bool json_object = false;

  // prompt
  std::string system;
  bool raw = false;
  std::string chat_template;
  std::string chat_template_kwargs;
  std::string session;
  std::string reasoning = "auto";
  std::int32_t reasoning_budget = -1;
  bool hide_reasoning = false;
  std::int32_t choices = 1;
  std::string tools;
  std::string tool_choice;

  // render
  std::string messages;
  std::string context;
  std::string now;

  // chat
  bool single_turn = false;
  bool multiline_input = false;
  bool no_history = false;
  bool no_typeahead = false;

  // output
  std::string color = "auto";
  bool quiet = false;
  bool json = false;
  std::string prefix;
  std::string dump_graph;
  std::string dump_graph_json;

  // tokenize
  bool ids = false;
  bool no_special = false;
  bool decode = false;

  // logits
  std::string tokens;
  bool all = false;  // logits: every position; info: every key
  std::string out;
  std::int32_t top = 10;

  // bench
  NumberList bench_prompt{{512}};
  NumberList bench_gen{{128}};
  NumberList bench_depth{{0}};
  NumberList bench_parallel{{1}};
  NumberList bench_threads{{0}};
  ChoiceList bench_kv_types{{"f16"}};
  std::int32_t repetitions = 5;
  std::string output_format = "md";
};

/// Where an option's value goes; its type decides how the text is read.
using Target =
    std::variant<bool Options::*, std::int32_t Options::*, std::int64_t Options::*,
                 float Options::*, std::string Options::*, std::vector<std::string> Options::*,
                 NumberList Options::*, ChoiceList Options::*>;

struct OptionRow {
  std::string_view name;   // "temp", without dashes
  char short_name;         // 'n' or 0
  std::uint32_t commands;  // CommandBit set
  Target target;
  std::string_view value;  // "N", "N,...", "FILE"; a choice list "auto|on|off"; empty: a switch
  double low, high;        // numbers: the allowed range
  std::string_view default_text;
  std::string_view help;
  std::string_view group;
};

std::span<const OptionRow> option_table();

/// Another spelling of an option or command (peers' habits, names of earlier versions).
struct Alias {
  std::string_view spelling;  // "-ctk"
  std::string_view means;     // "--kv-type"
};
std::span<const Alias> alias_table();

/// A word that people expect from the plan or from other programs, and what to tell them.
struct Answer {
  std::string_view spelling;  // "-hf", or a command: "chat"
  std::string_view answer;
};
std::span<const Answer> answer_table();

struct CommandRow {
  std::string_view name;  // "bench"; empty: run
  CommandBit bit;
  std::string_view usage;  // "minfer bench MODEL"
  std::string_view help;
  std::string_view positionals;  // "MODEL PROMPT": names in order, all optional for the parser
};
std::span<const CommandRow> command_table();

/// Environment switches, read once: empty and "0" are off.
struct EnvSwitches {
  bool timing = false;         // MINFER_TIMING
  bool op_timing = false;      // MINFER_OP_TIMING
  bool graph_trace = false;    // MINFER_GRAPH_TRACE
  bool rebuild_trace = false;  // MINFER_REBUILD_TRACE
  std::string graph_dump;      // MINFER_GRAPH_DUMP
  bool no_fuse_qkv = false;    // MINFER_NO_FUSE_QKV
  bool no_fuse_ffn = false;    // MINFER_NO_FUSE_FFN
  std::string isa;             // MINFER_ISA
};
EnvSwitches read_env_switches();

struct EnvSwitchRow {
  std::string_view name;
  std::string_view help;
};
std::span<const EnvSwitchRow> env_switch_table();

}  // namespace minfer::app
