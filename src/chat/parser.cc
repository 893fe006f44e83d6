#include "chat/parser.h"

#include <fmt/format.h>

#include <initializer_list>

#include "base/printable.h"
#include "chat/expression_parser.h"

namespace minfer::chat {
namespace {

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens)
      : tokens_(std::move(tokens)), exprs_(tokens_, names_) {}

  ParsedTemplate all() {
    ParsedTemplate parsed{block({}), names_.root()};
    names_.finish();
    return parsed;
  }

 private:
  struct Tag {
    std::string_view name;
    StmtPtr (Parser::*parse)(Position at);
  };
  static const Tag kTags[];

  /// Statements up to a tag that begins with one of `ends`, whose name is left in end_.
  Block block(std::initializer_list<std::string_view> ends) {
    const TokenStream::Level level(tokens_);
    Block out;
    for (;;) {
      const Position at = tokens_.place();
      if (tokens_.is(TokenKind::kData)) {
        out.push_back(make_data(at, tokens_.next().text));
      } else if (tokens_.is(TokenKind::kOutputBegin)) {
        tokens_.next();
        out.push_back(make_output(at, exprs_.tuple()));
        tokens_.expect(TokenKind::kOutputEnd, "'}}'");
      } else if (tokens_.is(TokenKind::kBlockBegin)) {
        tokens_.next();
        const Position tag_at = tokens_.place();
        std::string name = tokens_.expect_name();
        for (const std::string_view end : ends) {
          if (name == end) {
            end_ = std::move(name);
            return out;
          }
        }
        out.push_back(statement(name, tag_at));
      } else if (ends.size() > 0) {
        tokens_.error(fmt::format("the template ends before {{% {} %}}", *(ends.end() - 1)));
      } else {
        return out;
      }
    }
  }

  StmtPtr statement(const std::string& name, Position at) {
    for (const Tag* tag = kTags; tag->parse != nullptr; ++tag) {
      if (tag->name == name) return (this->*tag->parse)(at);
    }
    throw ParseError{at, fmt::format("unknown tag '{}'", printable(name, 40))};
  }

  void end_tag() { tokens_.expect(TokenKind::kBlockEnd, "'%}'"); }

  Block body(std::string_view end) {
    end_tag();
    Block out = block({end});
    end_tag();
    return out;
  }

  void store(const Target& target) {
    for (const Target& part : target.parts) store(part);
    if (!target.attribute.empty()) {
      names_.load(target.name);
    } else if (target.parts.empty()) {
      names_.store(target.name);
    }
  }

  void declare(const Target& target) {
    for (const Target& part : target.parts) declare(part);
    if (target.parts.empty()) names_.declare(target.name);
  }

  Target single_target() {
    Target target;
    if (tokens_.take_op("(")) {
      target = target_list();
      tokens_.expect_op(")");
      return target;
    }
    target.name = tokens_.expect_name();
    if (tokens_.take_op(".")) target.attribute = tokens_.expect_name();
    return target;
  }

  Target target_list() {
    const TokenStream::Level level(tokens_);
    Target first = single_target();
    if (!tokens_.is_op(",")) return first;
    Target list;
    list.parts.push_back(std::move(first));
    while (tokens_.take_op(",")) {
      if (!tokens_.is(TokenKind::kName) && !tokens_.is_op("(")) break;
      if (tokens_.is_name("in")) break;
      list.parts.push_back(single_target());
    }
    return list;
  }

  StmtPtr if_tag(Position at) {
    std::vector<IfBranch> branches;
    end_ = "if";
    while (end_ != "endif") {
      IfBranch branch;
      const bool is_else = end_ == "else";
      if (!is_else) branch.condition = exprs_.tuple(false);
      end_tag();
      names_.open_branch();
      branch.body = is_else ? block({"endif"}) : block({"elif", "else", "endif"});
      names_.close_branch();
      branches.push_back(std::move(branch));
    }
    end_tag();
    return make_if(at, std::move(branches));
  }

  StmtPtr for_tag(Position at) {
    ForParts parts;
    parts.target = target_list();
    if (!tokens_.take_name("in")) tokens_.error("'in' is due here");
    parts.items = for_items();
    if (tokens_.take_name("if")) {
      names_.open();
      declare(parts.target);
      parts.filter = exprs_.expression();
      names_.close();
    }
    parts.recursive = tokens_.take_name("recursive");
    end_tag();
    ++loops_;
    parts.hidden = names_.open();
    names_.declare("loop");
    declare(parts.target);
    parts.body = block({"else", "endfor"});
    names_.close();
    --loops_;
    if (end_ == "else") {
      end_tag();
      parts.hidden_otherwise = names_.open();
      parts.otherwise = block({"endfor"});
      names_.close();
    }
    end_tag();
    return make_for(at, std::move(parts));
  }

  // `for x in a if b`: the if is the loop's, no conditional expression.
  ExprPtr for_items() {
    const Position at = tokens_.place();
    ExprPtr first = exprs_.expression(false);
    if (!tokens_.is_op(",")) return first;
    std::vector<ExprPtr> items;
    items.push_back(std::move(first));
    while (tokens_.take_op(",")) {
      if (tokens_.is(TokenKind::kBlockEnd)) break;
      items.push_back(exprs_.expression(false));
    }
    return make_list(at, std::move(items), true);
  }

  StmtPtr set_tag(Position at) {
    Target target = target_list();
    if (tokens_.take_op("=")) {
      ExprPtr value = exprs_.tuple();
      store(target);
      end_tag();
      return make_set(at, std::move(target), std::move(value));
    }
    store(target);
    HiddenNames hidden = names_.open();
    ExprPtr filter = tokens_.is_op("|") ? exprs_.filters(nullptr) : nullptr;
    Block inside = body("endset");
    names_.close();
    return make_set_block(at, std::move(target), std::move(filter), std::move(inside),
                          std::move(hidden));
  }

  void signature(MacroCode& code) {
    tokens_.expect_op("(");
    while (!tokens_.is_op(")")) {
      code.parameters.push_back(tokens_.expect_name());
      names_.declare(code.parameters.back());
      if (tokens_.take_op("=")) {
        code.defaults.push_back(exprs_.expression());
      } else if (!code.defaults.empty()) {
        tokens_.error("a parameter without default after one with a default");
      }
      if (!tokens_.take_op(",")) break;
    }
    tokens_.expect_op(")");
  }

  void macro_body(MacroCode& code, std::string_view end) {
    const auto outer = std::exchange(exprs_.special_names, {});
    const int loops = std::exchange(loops_, 0);
    code.body = body(end);
    loops_ = loops;
    code.takes_more = exprs_.special_names.contains("varargs");
    code.takes_named = exprs_.special_names.contains("kwargs");
    exprs_.special_names = outer;
  }

  StmtPtr macro_tag(Position at) {
    auto code = std::make_shared<MacroCode>();
    code->name = tokens_.expect_name();
    names_.store(code->name);
    code->hidden = names_.open();
    signature(*code);
    macro_body(*code, "endmacro");
    names_.close();
    return make_macro(at, std::move(code));
  }

  StmtPtr call_tag(Position at) {
    auto code = std::make_shared<MacroCode>();
    code->name = "caller";
    code->hidden = names_.open();
    if (tokens_.is_op("(")) signature(*code);
    const std::size_t frame = names_.leave();
    const Position call_at = tokens_.place();
    std::string name = tokens_.expect_name();
    names_.load(name);
    ExprPtr callee = make_name(call_at, std::move(name));
    while (tokens_.take_op(".")) {
      callee = make_attribute(call_at, std::move(callee), tokens_.expect_name());
    }
    ArgExprs args = exprs_.arguments();
    args.named.emplace_back("caller", make_name(call_at, "caller()"));
    ExprPtr call = make_call(call_at, std::move(callee), std::move(args));
    names_.reenter(frame);
    macro_body(*code, "endcall");
    names_.close();
    return make_call_block(at, std::move(call), std::move(code));
  }

  StmtPtr filter_tag(Position at) {
    ExprPtr filter = exprs_.filters(nullptr, true);
    HiddenNames hidden = names_.open();
    Block inside = body("endfilter");
    names_.close();
    return make_filter_block(at, std::move(filter), std::move(inside), std::move(hidden));
  }

  StmtPtr with_tag(Position at) {
    std::vector<std::pair<Target, ExprPtr>> names;
    while (!tokens_.is(TokenKind::kBlockEnd)) {
      Target target = single_target();
      tokens_.expect_op("=");
      names.emplace_back(std::move(target), exprs_.expression());
      if (!tokens_.take_op(",")) break;
    }
    return with_frame(at, std::move(names), "endwith");
  }

  StmtPtr with_frame(Position at, std::vector<std::pair<Target, ExprPtr>> names,
                     std::string_view end) {
    HiddenNames hidden = names_.open();
    for (const auto& [target, value] : names) declare(target);
    Block inside = body(end);
    names_.close();
    return make_with(at, std::move(names), std::move(inside), std::move(hidden));
  }

  StmtPtr generation_tag(Position at) { return with_frame(at, {}, "endgeneration"); }

  StmtPtr flow_tag(Position at, Flow flow) {
    if (loops_ == 0) throw ParseError{at, "break and continue stand only in loops"};
    end_tag();
    return make_flow(at, flow);
  }
  StmtPtr break_tag(Position at) { return flow_tag(at, Flow::kBreak); }
  StmtPtr continue_tag(Position at) { return flow_tag(at, Flow::kContinue); }

  TokenStream tokens_;
  FrameNames names_;
  ExpressionParser exprs_;
  std::string end_;
  int loops_ = 0;
};

const Parser::Tag Parser::kTags[] = {
    {"if", &Parser::if_tag},
    {"for", &Parser::for_tag},
    {"set", &Parser::set_tag},
    {"macro", &Parser::macro_tag},
    {"call", &Parser::call_tag},
    {"filter", &Parser::filter_tag},
    {"with", &Parser::with_tag},
    {"generation", &Parser::generation_tag},
    {"break", &Parser::break_tag},
    {"continue", &Parser::continue_tag},
    {"", nullptr},
};

}  // namespace

Result<ParsedTemplate> parse_template(std::string_view source) {
  MINFER_ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize(source));
  try {
    return Parser(std::move(tokens)).all();
  } catch (const ParseError& error) {
    return template_status(error.at, error.message);
  } catch (const TemplateError& error) {
    return template_status({}, error.message);
  }
}

}  // namespace minfer::chat
