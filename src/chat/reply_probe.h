// Probes: what a template writes for conversations of known words, so that the marks around the
// words show how its model writes replies.
//
// Thread-safety: values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json_reader.h"
#include "chat/template.h"

namespace minfer::chat {

/// What a probe needs to know besides the template.
struct ProbeOptions {
  std::string bos_token;
  std::string eos_token;
  RenderOptions render;
};

/// The words of the probes: none of them part of another, no mark holds one.
namespace word {
inline constexpr std::string_view kUser = "Quxuser";
inline constexpr std::string_view kAnswer = "Quxanswer";
inline constexpr std::string_view kThought = "Quxthought";
inline constexpr std::string_view kTool = "quxtool";
inline constexpr std::string_view kOtherTool = "quxmore";
inline constexpr std::string_view kKey = "quxkey";
inline constexpr std::string_view kOtherKey = "quxpar";
inline constexpr std::string_view kValue = "quxvalue";
inline constexpr std::string_view kOtherValue = "quxtext";
inline constexpr std::string_view kId = "quxcall01";
inline constexpr std::string_view kOtherId = "quxcall02";
}  // namespace word

/// One conversation to render.
struct Probe {
  JsonValue::Array messages;    // after the user's
  JsonValue::Object arguments;  // further variables
  bool has_tools = false;
  bool add_generation_prompt = false;
  bool whole = false;  // also what stands before the user's message
};

/// What the template writes behind the user's word; nothing where it refuses, or drops the word.
std::optional<std::string> render_probe(const Template& source, const ProbeOptions& options,
                                        const Probe& probe);

/// A call of the tool with arguments as object or as JSON in a text.
JsonValue probe_call(std::string_view tool, std::string_view id, JsonValue::Object arguments,
                     bool as_text);
JsonValue json_of(std::string_view text);

// Text between marks.

/// How many bytes a and b share at their beginning, or end.
std::size_t common_prefix(std::string_view a, std::string_view b);
std::size_t common_suffix(std::string_view a, std::string_view b);
/// `n` bytes of text moved back to the end of a mark, a line or a word: where `text` may be cut.
std::size_t aligned_prefix(std::string_view text, std::size_t n);
/// The first place at or behind `at` where a mark or white space begins; text.size() for none.
std::size_t mark_start(std::string_view text, std::size_t at);

}  // namespace minfer::chat
