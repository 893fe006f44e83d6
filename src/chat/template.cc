#include "chat/template.h"

#include "chat/parser.h"

namespace minfer::chat {

struct Template::Tree {
  std::string source;
  ParsedTemplate parsed;
};

Template::Template(std::unique_ptr<Tree> tree) : tree_(std::move(tree)) {}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

Result<Template> Template::parse(std::string_view source) {
  MINFER_ASSIGN_OR_RETURN(ParsedTemplate parsed, parse_template(source));
  auto tree = std::make_unique<Tree>();
  tree->source = source;
  tree->parsed = std::move(parsed);
  return Template(std::move(tree));
}

bool Template::mentions(std::string_view word) const {
  return tree_->source.find(word) != std::string::npos;
}

Result<Text> Template::render(const Value& context, const RenderOptions& options) const {
  Run run(options.limits, options.now, context);
  Text out;
  run.out = &out;
  try {
    hide(run, tree_->parsed.hidden);
    run_block(run, tree_->parsed.block);
  } catch (const TemplateError& error) {
    return template_status(run.at, error.message);
  }
  return out;
}

}  // namespace minfer::chat
