#include "chat/tool_grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "chat/reply_marks.h"
#include "chat/reply_value.h"
#include "chat/tool_rules.h"

namespace minfer::chat {
namespace {

// Keywords that say nothing about which values fit.
constexpr std::array<std::string_view, 10> kNotes = {
    "description", "title",      "default", "examples", "$schema",
    "$comment",    "deprecated", "$id",     "readOnly", "writeOnly"};
// Keywords of an object that a list of parameters can keep to.
constexpr std::array<std::string_view, 6> kListed = {
    "type", "properties", "required", "additionalProperties", "$defs", "definitions"};

template <class Names>
bool is_one_of(std::string_view name, const Names& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_required(const JsonValue& schema, std::string_view key) {
  const JsonValue* list = schema.find("required");
  if (list == nullptr || list->array() == nullptr) return false;
  return std::any_of(list->array()->begin(), list->array()->end(), [&](const JsonValue& name) {
    return name.string() != nullptr && *name.string() == key;
  });
}

// A text of which nothing but its type is asked.
bool is_plain_text(const JsonValue& schema) {
  const JsonValue* type = schema.find("type");
  return type != nullptr && type->string() != nullptr && *type->string() == "string" &&
         std::all_of(schema.object()->begin(), schema.object()->end(), [](const auto& member) {
           return member.first == "type" || is_one_of(member.first, kNotes);
         });
}

// The schema of a property, with the definitions of the whole that it may refer to.
JsonValue with_definitions(const JsonValue& property, const JsonValue& whole) {
  JsonValue out = property;
  auto* members = std::get_if<JsonValue::Object>(&out.data);
  for (const char* name : {"$defs", "definitions"}) {
    const JsonValue* definitions = whole.find(name);
    if (members != nullptr && definitions != nullptr && property.find(name) == nullptr)
      members->emplace_back(name, *definitions);
  }
  return out;
}

class Builder {
 public:
  Builder(const ReplyFormat& format, const ToolSet& tools, const ToolGrammarOptions& options)
      : format_(format), calls_(format.calls), tools_(tools), options_(options) {}

  Result<ToolGrammar> build() {
    if (!calls_.exists()) return unsupported("tools: template has no tool support");
    const bool must = options_.choice.must_call();
    const bool from_call = options_.start == ReplyStart::kCall;
    if (!must && from_call) return ToolGrammar{};
    if (!must && !bare()) {
      const std::string trigger = find_trigger();
      if (trigger.empty()) return ToolGrammar{};
      out_.triggers.push_back(trigger);
    }
    MINFER_RETURN_IF_ERROR(add_tools());
    std::string root = "root ::=";
    if (must) root += lead();
    if (!must && bare()) {
      root += " calls | free\n";
      // A text that ReplyParser takes for no call.
      root += "free ::= [ \\t\\r\\n]* ([^{\\[ \\t\\r\\n] .*)?\n";
    } else {
      root += " calls\n";
    }
    out_.rules = root + calls_rule() + out_.rules;
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string marks(std::string_view text) const {
    return mark_symbols(text, options_.find_control);
  }

  [[nodiscard]] bool bare() const {
    return !format_.headers.exists() && is_blank(calls_.section_begin) &&
           is_blank(calls_.call_begin);
  }

  // What a call of a reply begins with, and nothing else does.
  [[nodiscard]] std::string find_trigger() const {
    std::string_view mark = trimmed(calls_.section_begin);
    if (mark.empty()) mark = trimmed(calls_.call_begin);
    if (!format_.headers.call_prefix.empty()) mark = format_.headers.call_prefix;
    const auto control = options_.find_control ? options_.find_control(mark) : std::nullopt;
    if (control)
      mark =
          control->at == 0 ? mark.substr(0, control->size) : trimmed(mark.substr(0, control->at));
    // Plain words are in answers too.
    return mark.find_first_of("<[`=") == std::string_view::npos ? "" : std::string(mark);
  }

  // What may stand before the call that must come: the mark of a thought, of which the rest is not
  // the grammar's, and white space behind it.
  [[nodiscard]] std::string lead() const {
    const ReasoningFormat& reasoning = format_.reasoning;
    static const std::string kBreaks = " [ \\n]{0,2}";
    if (format_.headers.exists()) return header_lead();
    if (!reasoning.exists()) return "";
    if (options_.start == ReplyStart::kThought || options_.start == ReplyStart::kAfterThought)
      return kBreaks;
    return reasoning.begin.empty() ? "" : " (" + marks(reasoning.begin) + kBreaks + ")?";
  }

  [[nodiscard]] std::string header_lead() const {
    const HeaderFormat& headers = format_.headers;
    if (options_.start == ReplyStart::kThought) return marks(headers.start) + call_header();
    return " (" + marks(headers.thought + headers.message + headers.start) + ")?" + call_header();
  }

  // What a reply that stands in a header writes before the call.
  [[nodiscard]] std::string call_header() const {
    const HeaderFormat& headers = format_.headers;
    return headers.call_prefix.empty() ? " [^<]{0,100}" + marks(headers.message) : marks(" ");
  }

  std::string calls_rule() {
    const bool first_is_open = options_.start == ReplyStart::kCall;
    const std::string first = first_is_open ? " open-call" : " call";
    std::string out;
    if (first_is_open) {
      out += "open-call ::= call-body\n";
    }
    if (calls_.is_list) {
      out += "calls ::=" + marks(left_trimmed(calls_.section_begin)) + " \"[\" call" +
             (several() ? " (\", \" call)*" : "") + " \"]\"" +
             marks(right_trimmed(calls_.section_end)) + "\n";
    } else {
      const std::string section = left_trimmed(calls_.section_begin);
      const std::string separator = marks(calls_.separator);
      out += "calls ::=" + marks(section) + first +
             (several() ? " (" + separator + " next-call)*" : "") +
             marks(right_trimmed(calls_.section_end)) + "\n";
      if (several()) out += "next-call ::=" + marks(calls_.call_begin) + " call-body\n";
      const std::string begin = is_blank(section) ? left_trimmed(call_begin()) : calls_.call_begin;
      if (!first_is_open) out += "call ::=" + marks(begin) + " call-body\n";
      out += "call-body ::= call-text" + marks(right_trimmed(calls_.call_end)) + "\n";
    }
    out += calls_.is_list ? "call ::=" : "call-text ::=";
    for (std::size_t i = 0; i < bodies_.size(); ++i) out += (i > 0 ? " |" : "") + bodies_[i];
    return out + "\n";
  }

  [[nodiscard]] std::string call_begin() const {
    return format_.headers.call_prefix.empty() ? calls_.call_begin : format_.headers.call_prefix;
  }

  [[nodiscard]] bool several() const {
    return options_.parallel && calls_.parallel && !format_.headers.exists();
  }

  static std::string left_trimmed(std::string_view text) {
    return std::string(text.substr(std::min(text.find_first_not_of(kBlanks), text.size())));
  }
  static std::string right_trimmed(std::string_view text) {
    return std::string(text.substr(0, text.find_last_not_of(kBlanks) + 1));
  }

  Status add_tools() {
    for (std::size_t i = 0; i < tools_.tools.size(); ++i) {
      const Tool& tool = tools_.tools[i];
      if (options_.choice.kind == ToolChoice::Kind::kNamed && tool.name != options_.choice.name)
        continue;
      MINFER_RETURN_IF_ERROR(add_tool(tool, i));
    }
    return ok_status();
  }

  Status add_tool(const Tool& tool, std::size_t index) {
    const std::string path = fmt::format("tools[{}].function.parameters", index);
    const std::string rule = fmt::format("args-{}", index);
    switch (calls_.shape) {
      case CallShape::kObject:
        add_schema(rule, tool.parameters, "", path);
        bodies_.push_back(fmt::format(
            " {} {} \"}}\"",
            gbnf_string("{" + json_quoted(calls_.name_key) + ": " + json_quoted(tool.name) + ", " +
                        json_quoted(calls_.arguments_key) + ": "),
            rule));
        return ok_status();
      case CallShape::kKeyedObject:
        add_schema(rule, tool.parameters, "", path);
        bodies_.push_back(
            fmt::format(" {} {} \"}}\"", gbnf_string("{" + json_quoted(tool.name) + ": "), rule));
        return ok_status();
      case CallShape::kNameArguments:
        if (calls_.notation == ValueNotation::kJson) {
          add_schema(rule, tool.parameters, "", path);
        } else {
          MINFER_RETURN_IF_ERROR(add_list(tool, index, rule, path));
        }
        bodies_.push_back(" " + gbnf_string(tool.name) + name_end() + " " + rule);
        return ok_status();
      case CallShape::kParameters:
        MINFER_RETURN_IF_ERROR(add_parameters(tool, index, rule, path));
        bodies_.push_back(" " + gbnf_string(tool.name) + name_end() + " " + rule);
        return ok_status();
      case CallShape::kNone:
        break;
    }
    return ok_status();
  }

  [[nodiscard]] std::string name_end() const {
    std::string out;
    if (!format_.headers.call_prefix.empty() && options_.find_control &&
        options_.find_control("<|constrain|>")) {
      // Models of this format write the header in another order than their template.
      out = " (" + marks(calls_.name_end) + " |" +
            marks(" <|constrain|>json" + format_.headers.message) + ")";
    } else {
      out = marks(calls_.name_end);
    }
    if (!calls_.has_hole) return out;
    return out + (calls_.hole_is_id ? " [a-zA-Z0-9]{9}" : " [0-9]{1,3}") + marks(calls_.hole_end);
  }

  void add_schema(const std::string& rule, JsonValue schema, std::string bare_end,
                  const std::string& path) {
    out_.schemas.push_back({rule, std::move(schema), std::move(bare_end), path});
  }

  // Only what a list of parameters can keep to.
  static Status check_listed(const JsonValue& schema, const std::string& path) {
    for (const auto& [keyword, value] : *schema.object()) {
      if (!is_one_of(keyword, kListed) && !is_one_of(keyword, kNotes))
        return unsupported(fmt::format(
            "{}.{}: this model writes arguments one by one, so that this keyword cannot be kept to",
            path, keyword));
    }
    if (const JsonValue* required = schema.find("required"); required != nullptr) {
      const JsonValue* properties = schema.find("properties");
      for (const JsonValue& name : required->array() ? *required->array() : JsonValue::Array{}) {
        if (name.string() != nullptr &&
            (properties == nullptr || properties->find(*name.string()) == nullptr))
          return unsupported(
              fmt::format("{}.required: \"{}\" is no property", path, *name.string()));
      }
    }
    return ok_status();
  }

  static const JsonValue::Object& properties_of(const JsonValue& schema) {
    static const JsonValue::Object kNone;
    const JsonValue* properties = schema.find("properties");
    return properties != nullptr && properties->object() != nullptr ? *properties->object() : kNone;
  }

  // begin KEY mark VALUE end, for each property.
  Status add_parameters(const Tool& tool, std::size_t index, const std::string& rule,
                        const std::string& path) {
    MINFER_RETURN_IF_ERROR(check_listed(tool.parameters, path));
    std::string list = rule + " ::= \"\"";
    std::size_t n = 0;
    for (const auto& [key, property] : properties_of(tool.parameters)) {
      const std::string name = fmt::format("arg-{}-{}", index, n++);
      const bool is_text = parameter_kind(&tool, key) == ParameterKind::kText;
      std::string end = calls_.parameter_end;
      if (const std::size_t hole = end.find(kKeyHole); hole != std::string::npos)
        end.replace(hole, 1, key);
      add_value(name, property, tool.parameters, is_text ? end : "", path + ".properties." + key);
      const std::string item = marks(calls_.parameter_begin + key + value_mark(property, is_text)) +
                               " " + name + marks(end);
      list += is_required(tool.parameters, key) ? item : " (" + item + ")?";
    }
    out_.rules += list + "\n";
    return ok_status();
  }

  void add_value(const std::string& rule, const JsonValue& property, const JsonValue& whole,
                 const std::string& bare_end, const std::string& path) {
    if (!bare_end.empty() && is_plain_text(property)) {
      out_.rules += text_rules(rule, trimmed(bare_end), options_.find_control);
    } else {
      add_schema(rule, with_definitions(property, whole), std::string(trimmed(bare_end)), path);
    }
  }

  [[nodiscard]] std::string value_mark(const JsonValue& property, bool is_text) const {
    const JsonValue* type = property.find("type");
    std::string name = type != nullptr && type->string() != nullptr ? *type->string() : "";
    if (name == "integer") name = "number";
    const std::vector<ValueMark>& marks = calls_.value_marks;
    if (is_text) return marks.front().begin;
    const auto typed = std::find_if(marks.begin(), marks.end(), [&](const ValueMark& mark) {
      return mark.for_other && mark.type == name;
    });
    if (typed != marks.end()) return typed->begin;
    const auto other = std::find_if(marks.begin(), marks.end(),
                                    [](const ValueMark& mark) { return mark.for_other; });
    return other != marks.end() ? other->begin : marks.front().begin;
  }

  // (key=value, ...) or {key:value,...}: what stands between depends on what came before.
  Status add_list(const Tool& tool, std::size_t index, const std::string& rule,
                  const std::string& path) {
    MINFER_RETURN_IF_ERROR(check_listed(tool.parameters, path));
    const bool python = calls_.notation == ValueNotation::kPython;
    const std::string comma = gbnf_string(python ? ", " : ",");
    const JsonValue::Object& properties = properties_of(tool.parameters);
    std::string rest = fmt::format("{}-rest-{} ::= \"\"\n", rule, properties.size());
    std::string start = fmt::format("{}-first-{} ::= \"\"\n", rule, properties.size());
    for (std::size_t i = 0; i < properties.size(); ++i) {
      const auto& [key, property] = properties[i];
      const std::string name = fmt::format("arg-{}-{}", index, i);
      const std::string item = list_item(name, key, property, tool.parameters, path);
      const bool required = is_required(tool.parameters, key);
      const std::string next = fmt::format(" {}-rest-{}", rule, i + 1);
      rest += fmt::format("{}-rest-{} ::= {}{}{}\n", rule, i,
                          required ? comma + item : "(" + comma + item + ")?", next, "");
      start += fmt::format("{}-first-{} ::={}{}", rule, i, item, next);
      if (!required) start += fmt::format(" | {}-first-{}", rule, i + 1);
      start += "\n";
    }
    out_.rules += fmt::format("{} ::= {} {}-first-0 {}\n", rule, gbnf_string(python ? "(" : "{"),
                              rule, gbnf_string(python ? ")" : "}"));
    out_.rules += start + rest;
    return ok_status();
  }

  std::string list_item(const std::string& name, const std::string& key, const JsonValue& property,
                        const JsonValue& whole, const std::string& path) {
    const bool quoted = calls_.notation == ValueNotation::kQuoted && is_plain_text(property);
    add_value(name, property, whole, quoted ? calls_.quote : "", path + ".properties." + key);
    const std::string value =
        quoted ? marks(calls_.quote) + " " + name + marks(calls_.quote) : " " + name;
    const bool python = calls_.notation == ValueNotation::kPython;
    return " " + gbnf_string(key + (python ? "=" : ":")) + value;
  }

  const ReplyFormat& format_;
  const CallFormat& calls_;
  const ToolSet& tools_;
  const ToolGrammarOptions& options_;
  ToolGrammar out_;
  std::vector<std::string> bodies_;  // symbols of a call of each tool
};

}  // namespace

Result<ToolGrammar> make_tool_grammar(const ReplyFormat& format, const ToolSet& tools,
                                      const ToolGrammarOptions& options) {
  if (options.choice.kind == ToolChoice::Kind::kNone || tools.empty()) return ToolGrammar{};
  return Builder(format, tools, options).build();
}

}  // namespace minfer::chat
