// minfer logits MODEL --tokens 1,2,3: the model's raw outputs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/printable.h"
#include "base/write_file.h"
#include "commands.h"
#include "load.h"
#include "signals.h"
#include "terminal.h"

namespace minfer::app {
namespace {

Result<std::vector<engine::TokenId>> parse_tokens(std::string_view text) {
  std::vector<engine::TokenId> ids;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    engine::TokenId id = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || rest != word.data() + word.size() || id < 0) {
      return invalid_argument(
          fmt::format("--tokens: \"{}\" is not a token id; write ids with commas, as in 1,2,3",
                      printable(word, 20)));
    }
    ids.push_back(id);
  }
  return ids;
}

Status check_in_vocabulary(std::span<const engine::TokenId> ids, std::int64_t n_vocab) {
  const auto bad = std::ranges::find_if(ids, [&](engine::TokenId id) { return id >= n_vocab; });
  if (bad == ids.end()) return ok_status();
  return invalid_argument(
      fmt::format("--tokens: {} is not a token id of this model (0 to {})", *bad, n_vocab - 1));
}

std::string top_list(std::span<const float> row, std::int64_t position, std::int32_t n_top,
                     const text::Tokenizer* tokenizer) {
  std::vector<std::int32_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  const auto n = std::min(static_cast<std::size_t>(n_top), row.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
                    [&](std::int32_t a, std::int32_t b) {
                      const float x = row[static_cast<std::size_t>(a)];
                      const float y = row[static_cast<std::size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  double total = 0;
  const double largest = row[static_cast<std::size_t>(order[0])];
  for (const float x : row) total += std::exp(static_cast<double>(x) - largest);
  std::string text = fmt::format("position {}\n", position);
  for (std::size_t i = 0; i < n; ++i) {
    const float x = row[static_cast<std::size_t>(order[i])];
    const double p = std::exp(static_cast<double>(x) - largest) / total;
    text += fmt::format("{:>8}  {:>12.6f}  {:>7.4f}", order[i], x, p);
    if (tokenizer != nullptr && tokenizer->has_text()) {
      text += fmt::format("  \"{}\"", printable(tokenizer->token_bytes(order[i])));
    }
    text += '\n';
  }
  return text;
}

Status check_finite(std::span<const float> row, std::int64_t position) {
  for (std::size_t id = 0; id < row.size(); ++id) {
    if (!std::isfinite(row[id])) {
      return numeric_error(
          fmt::format("non-finite logits at position {} (token {} is {}): the model's weights are "
                      "damaged or overflow; try --check-tensors",
                      position, id, row[id]));
    }
  }
  return ok_status();
}

void append_bytes(std::string& bytes, std::span<const float> row) {
  bytes.append(reinterpret_cast<const char*>(row.data()), row.size_bytes());
}

}  // namespace

Result<int> logits_command(const Invocation& invocation, const EnvSwitches& env) {
  const Options& options = invocation.options;
  if (invocation.was_given("out") && options.out != "-") {
    MINFER_RETURN_IF_ERROR(check_output_file(options.out, options.model));
  }
  if (options.tokens.empty()) {
    return invalid_argument(
        fmt::format("no tokens given. Example: minfer logits {} --tokens 1,2,3", options.model));
  }
  MINFER_ASSIGN_OR_RETURN(const auto ids, parse_tokens(options.tokens));
  Invocation sized = invocation;
  // The ids need no room behind them.
  if (sized.options.ctx_size == 0) sized.options.ctx_size = static_cast<std::int32_t>(ids.size());
  if (static_cast<std::int32_t>(ids.size()) > sized.options.ctx_size) {
    return invalid_argument(fmt::format("{} tokens do not fit in a context of {}: raise --ctx-size",
                                        ids.size(), sized.options.ctx_size));
  }
  MINFER_ASSIGN_OR_RETURN(Loaded loaded, load(invocation, env));
  MINFER_RETURN_IF_ERROR(check_in_vocabulary(ids, loaded.model().hparams().n_vocab));
  MINFER_ASSIGN_OR_RETURN(SessionChoice choice, open_session(loaded, sized, env, 0, 0));
  engine::Session& session = *choice.session;
  const bool to_stdout = options.out == "-";
  // Until the end: a signal waits for a file that is being written.
  const StopTarget target(session);
  print_header(loaded, choice, options);

  std::string bytes;
  std::string lists;
  const auto consume = [&](std::size_t position, std::span<const float> row) -> Status {
    MINFER_RETURN_IF_ERROR(check_finite(row, static_cast<std::int64_t>(position)));
    if (!options.out.empty()) append_bytes(bytes, row);
    lists +=
        top_list(row, static_cast<std::int64_t>(position), options.top, loaded.model().tokenizer());
    return ok_status();
  };
  if (options.all) {
    MINFER_RETURN_IF_ERROR(session.advance_all(ids, consume));
  } else {
    MINFER_ASSIGN_OR_RETURN(const auto row, session.advance(ids));
    MINFER_RETURN_IF_ERROR(consume(ids.size() - 1, row));
  }
  Output out;
  if (to_stdout) {
    if (!options.quiet) print_note(lists);
    // Raw floats are no text: a terminal's rules do not apply to them.
    out.write(bytes);
  } else {
    if (!options.out.empty()) MINFER_RETURN_IF_ERROR(write_file_whole(options.out, bytes));
    out.write(lists);
  }
  MINFER_RETURN_IF_ERROR(out.status());
  if (env.op_timing) print_note(op_timing_table(*loaded.engine, session.forward()));
  return received_signal() != 0 ? 128 + received_signal() : 0;
}

}  // namespace minfer::app
