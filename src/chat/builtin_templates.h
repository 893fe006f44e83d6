// The chat templates that --chat-template knows by name: builtin_templates.def.
//
// Thread-safety: constants.
#pragma once

#include <span>
#include <string_view>

namespace minfer::chat {

struct BuiltinTemplate {
  std::string_view name;
  std::string_view source;
};

/// All, by name.
std::span<const BuiltinTemplate> builtin_templates();
/// The source of one; empty where there is none of the name.
std::string_view find_builtin_template(std::string_view name);

}  // namespace minfer::chat
