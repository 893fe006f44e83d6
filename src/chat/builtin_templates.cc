#include "chat/builtin_templates.h"

namespace minfer::chat {

std::span<const BuiltinTemplate> builtin_templates() {
  static constexpr BuiltinTemplate kTemplates[] = {
#define BUILTIN(name, source) {name, source},
#include "chat/builtin_templates.def"
#undef BUILTIN
  };
  return kTemplates;
}

std::string_view find_builtin_template(std::string_view name) {
  for (const BuiltinTemplate& candidate : builtin_templates()) {
    if (candidate.name == name) return candidate.source;
  }
  return {};
}

}  // namespace minfer::chat
