// The commands of a chat: a function for each row of chat_commands.def.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "base/write_file.h"
#include "chat_loop.h"
#include "help.h"
#include "prompt_input.h"
#include "terminal.h"

namespace minfer::app {
namespace {

constexpr std::string_view kBlanks = " \t\n";
constexpr std::size_t kHelpColumn = 24;

/// All of `text` as a whole number, or nothing.
std::optional<std::int32_t> number_in(std::string_view text) {
  std::int32_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) return {};
  return value;
}

Result<std::int32_t> count_in(std::string_view text, std::int32_t most) {
  const auto number = number_in(text);
  if (!number || *number < 1 || *number > most) {
    return invalid_argument(
        fmt::format("\"{}\" is no whole number from 1 to {}", printable(text), most));
  }
  return *number;
}

/// The first word, and what follows it.
std::pair<std::string, std::string> first_word(std::string_view text) {
  const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
  const std::size_t next = std::min(text.find_first_not_of(kBlanks, end), text.size());
  return {std::string(text.substr(0, end)), std::string(text.substr(next))};
}

/// The start of a text, on one line.
std::string excerpt(std::string_view text) { return printable(text, 60); }

bool settable(const OptionRow& row) {
  return (row.commands & kChat) != 0 && row.group == "Sampling" && row.name != "sampling";
}

/// The value that holds, whether it came from an option or from the model's file; empty where it is
/// no single value.
std::string present_value(const OptionRow& row, const sampling::SamplerOptions& settings) {
  if (row.name == "seed") return fmt::format("{}", settings.seed);
  for (const sampling::SamplerNumberRow& number : sampling::sampler_number_table()) {
    if (number.option != row.name) continue;
    return std::visit([&](auto field) { return fmt::format("{}", settings.*field); }, number.field);
  }
  return {};
}

}  // namespace

Status ChatLoop::do_Help(const std::string&) {
  parts_.screen.list(chat_command_help(parts_.screen.columns()));
  return ok_status();
}

Status ChatLoop::do_Regen(const std::string&) {
  return answer(
      [&](const engine::ReplyHooks& hooks) { return parts_.conversation.regenerate(hooks); });
}

Status ChatLoop::do_Undo(const std::string&) {
  MINFER_ASSIGN_OR_RETURN(const std::string text,
                          parts_.conversation.take_back(parts_.conversation.n_turns()));
  parts_.screen.note(fmt::format("(taken back: \"{}\")", excerpt(text)));
  end_turn();
  return ok_status();
}

Status ChatLoop::do_Edit(const std::string& argument) {
  engine::Conversation& conversation = parts_.conversation;
  auto [word, rest] = first_word(argument);
  std::int32_t turn = conversation.n_turns();
  std::string text = argument;
  if (const auto number = number_in(word)) {
    turn = *number;
    text = rest;
  }
  if (text.empty() && !parts_.input.interactive()) {
    return invalid_argument("/edit needs the new TEXT where it cannot be edited");
  }
  const std::vector<engine::Message> before(conversation.messages().begin(),
                                            conversation.messages().end());
  MINFER_ASSIGN_OR_RETURN(std::string old, conversation.take_back(turn));
  if (text.empty()) {
    parts_.screen.note(fmt::format("(message {} and all behind it are taken back)", turn));
    start_ = std::move(old);
    end_turn();
    return ok_status();
  }
  const Status status = answer(
      [&](const engine::ReplyHooks& hooks) { return conversation.send(std::move(text), hooks); });
  // What was refused changes nothing.
  if (!status.ok() && conversation.n_turns() < turn) conversation.set_messages(before);
  return status;
}

Status ChatLoop::do_Clear(const std::string&) {
  parts_.conversation.clear();
  file_text_.clear();
  parts_.screen.note("(all messages are forgotten)");
  end_turn();
  return ok_status();
}

Status ChatLoop::do_System(const std::string& argument) {
  if (argument.empty()) {
    const std::string_view text = parts_.conversation.system();
    if (text.empty()) {
      parts_.screen.note("(there is no system text)");
    } else {
      parts_.screen.list(fmt::format("{}\n", text));
    }
    return ok_status();
  }
  const bool none = argument == "\"\"";
  parts_.conversation.set_system(none ? std::string() : argument);
  parts_.screen.note(none ? "(the system text is gone)" : "(the system text is set)");
  end_turn();
  return ok_status();
}

Status ChatLoop::do_Alt(const std::string& argument) {
  constexpr std::int32_t kMost = 64;
  MINFER_ASSIGN_OR_RETURN(const std::int32_t n, count_in(argument, kMost));
  std::size_t n_made = 0;
  const Status status = answer([&](const engine::ReplyHooks& hooks) -> Result<engine::Reply> {
    const auto begin = [&](std::int32_t i) {
      if (i > 1) parts_.screen.end_reply();
      parts_.screen.note(fmt::format("({} of {})", i, n));
    };
    MINFER_ASSIGN_OR_RETURN(std::vector<engine::Reply> replies,
                            parts_.conversation.alternatives(n, hooks, begin));
    n_made = replies.size();
    if (replies.empty()) return cancelled("stopped");
    engine::Reply all = replies.back();
    for (std::size_t i = 0; i + 1 < replies.size(); ++i) {
      all.n_tokens += replies[i].n_tokens;
      all.n_prefill += replies[i].n_prefill;
      all.prefill_seconds += replies[i].prefill_seconds;
      all.decode_seconds += replies[i].decode_seconds;
    }
    return all;
  });
  if (status.ok()) {
    parts_.screen.note(fmt::format("(answer {} holds; /pick N takes another)", n_made));
  }
  return status;
}

Status ChatLoop::do_Pick(const std::string& argument) {
  const auto n = number_in(argument);
  if (!n) return invalid_argument(fmt::format("\"{}\" is no whole number", printable(argument)));
  MINFER_RETURN_IF_ERROR(parts_.conversation.pick(*n));
  parts_.screen.note(fmt::format("(answer {} holds)", *n));
  end_turn();
  return ok_status();
}

Status ChatLoop::do_Goto(const std::string& argument) {
  if (const auto turn = number_in(argument)) {
    MINFER_RETURN_IF_ERROR(parts_.conversation.go_to(*turn));
    parts_.screen.note(fmt::format("(behind message {})", *turn));
  } else {
    const Status status = parts_.conversation.switch_to(argument);
    if (!status.ok()) {
      std::string names;
      for (const std::string& name : parts_.conversation.branches()) {
        names += (names.empty() ? "" : ", ") + name;
      }
      return Status(status.code(), fmt::format("{}; there are {}", status.message(), names));
    }
    parts_.screen.note(
        fmt::format("(branch {}, behind message {})", argument, parts_.conversation.n_turns()));
  }
  end_turn();
  return ok_status();
}

Status ChatLoop::do_Fork(const std::string& argument) {
  if (number_in(argument) || argument.find_first_of(kBlanks) != std::string::npos) {
    return invalid_argument("the name of a branch is one word, and no number");
  }
  const std::string before = parts_.conversation.branch();
  MINFER_RETURN_IF_ERROR(parts_.conversation.fork(argument));
  parts_.screen.note(fmt::format("(branch {}; /goto {} goes back)", argument, before));
  end_turn();
  return ok_status();
}

Status ChatLoop::do_Read(const std::string& argument) {
  if (argument == "-") return invalid_argument("/read takes a file");
  MINFER_ASSIGN_OR_RETURN(const std::string text, read_file(argument));
  file_text_ += text + (text.ends_with('\n') ? "\n" : "\n\n");
  parts_.screen.note(
      fmt::format("({} bytes: they go before the next message)", grouped(text.size())));
  return ok_status();
}

Status ChatLoop::do_Save(const std::string& argument) {
  if (argument == "-") return invalid_argument("/save takes a file");
  MINFER_RETURN_IF_ERROR(check_output_file(argument, parts_.invocation.options.model));
  MINFER_RETURN_IF_ERROR(
      write_file_whole(argument, messages_to_json(parts_.conversation.messages())));
  parts_.screen.note(fmt::format("({} messages)", parts_.conversation.messages().size()));
  return ok_status();
}

Status ChatLoop::do_Load(const std::string& argument) {
  if (argument == "-") return invalid_argument("/load takes a file");
  MINFER_ASSIGN_OR_RETURN(const std::string text, read_file(argument));
  auto messages = messages_from_json(text);
  if (!messages.ok()) return messages.status().with_context(argument);
  const std::size_t n = messages->size();
  parts_.conversation.set_messages(std::move(*messages));
  parts_.screen.note(fmt::format("({} messages)", n));
  end_turn();
  return ok_status();
}

Status ChatLoop::do_Stats(const std::string&) {
  const engine::Conversation& conversation = parts_.conversation;
  const auto rate = [](std::int64_t n, double seconds) {
    return seconds > 0 ? static_cast<double>(n) / seconds : 0.0;
  };
  std::string text = fmt::format("messages   {} in {} turns\n", conversation.messages().size(),
                                 conversation.n_turns());
  text += fmt::format("context    {} of {} tokens\n",
                      conversation.stream().size() + conversation.pending().size(),
                      conversation.source().n_ctx());
  text += fmt::format("prefilled  {} tokens in {:.2f} s ({:.1f} tok/s)\n", n_prefilled_,
                      prefill_seconds_, rate(n_prefilled_, prefill_seconds_));
  text += fmt::format("generated  {} tokens in {:.2f} s ({:.1f} tok/s)\n", n_drawn_,
                      decode_seconds_, rate(n_drawn_, decode_seconds_));
  text += fmt::format("branch     {}", conversation.branch());
  const auto branches = conversation.branches();
  if (branches.size() > 1) text += fmt::format(" of {}", fmt::join(branches, ", "));
  parts_.screen.list(text + "\n");
  return ok_status();
}

Status ChatLoop::do_Set(const std::string& argument) {
  const auto [word, value] = first_word(argument);
  const std::string name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  if (name.empty()) {
    std::string text;
    for (const OptionRow& row : option_table()) {
      if (!settable(row)) continue;
      const std::string present = present_value(row, parts_.sampling());
      if (!present.empty()) text += fmt::format("  {:<20} {}\n", row.name, present);
    }
    parts_.screen.list(text);
    return ok_status();
  }
  const auto row = std::ranges::find_if(
      option_table(), [&](const OptionRow& each) { return settable(each) && each.name == name; });
  if (row == option_table().end()) {
    return invalid_argument(
        fmt::format("\"{}\" is no sampler setting: /set lists them", printable(name)));
  }
  if (value.empty()) {
    std::string text;
    append_help_line(text, fmt::format("{} {}", name, present_value(*row, parts_.sampling())),
                     std::string(row->help), kHelpColumn, parts_.screen.columns());
    parts_.screen.list(text);
    return ok_status();
  }
  Invocation changed = parts_.invocation;
  // A list that only grew could not be set back.
  if (const auto* list = std::get_if<std::vector<std::string> Options::*>(&row->target)) {
    (changed.options.*(*list)).clear();
  }
  MINFER_RETURN_IF_ERROR(set_option_by_name(name, value, changed));
  MINFER_RETURN_IF_ERROR(parts_.set_sampler(changed));
  parts_.invocation = std::move(changed);
  parts_.screen.note(fmt::format("({} {})", name, value));
  return ok_status();
}

Status ChatLoop::do_Exit(const std::string&) {
  leave_ = true;
  return ok_status();
}

std::string messages_to_json(std::span<const engine::Message> messages) {
  JsonWriter json;
  json.begin_object();
  json.key("messages").begin_array();
  for (const engine::Message& message : messages) {
    json.begin_object();
    json.key("role").string(message.role);
    json.key("content").string(message.content);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text() + "\n";
}

Result<std::vector<engine::Message>> messages_from_json(std::string_view text) {
  MINFER_ASSIGN_OR_RETURN(const JsonValue document, parse_json(text));
  const JsonValue* list = document.object() != nullptr ? document.find("messages") : &document;
  if (list == nullptr || list->array() == nullptr) {
    return invalid_argument("messages: an array is needed");
  }
  std::vector<engine::Message> messages;
  for (const JsonValue& each : *list->array()) {
    const std::string place = fmt::format("messages[{}]", messages.size());
    const JsonValue* role = each.object() != nullptr ? each.find("role") : nullptr;
    const JsonValue* content = each.object() != nullptr ? each.find("content") : nullptr;
    const bool texts = role != nullptr && role->string() != nullptr && content != nullptr &&
                       content->string() != nullptr;
    if (!texts) return invalid_argument(place + ": role and content are needed, as texts");
    const std::string& name = *role->string();
    const bool known =
        name == "user" || name == "assistant" || (name == "system" && messages.empty());
    if (!known) {
      return invalid_argument(fmt::format(
          "{}: role \"{}\" has no place here: system may come first, then user and assistant",
          place, printable(name)));
    }
    messages.push_back({name, *content->string(), {}});
  }
  return messages;
}

}  // namespace minfer::app
