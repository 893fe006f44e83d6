// minfer prime MODEL -o P.kv: computes the beginning of prompts once, for --prefix.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "commands.h"
#include "load.h"
#include "prefix.h"
#include "prompt_input.h"
#include "run_prompt.h"
#include "signals.h"
#include "terminal.h"

namespace minfer::app {
namespace {

using Clock = std::chrono::steady_clock;

/// The tokens that all prompts begin with whose text goes on from `text` (nothing: any text),
/// behind the same system text. What a template or the tokenizer makes of the border is not of
/// them.
Result<std::vector<engine::TokenId>> common_beginning(const model::Model& model,
                                                      const Options& options,
                                                      const std::optional<std::string>& text) {
  const auto with = [&](const std::string& more) {
    return make_prompt(model, options, text ? join_prompt(*text, more) : more);
  };
  // As unlike each other as texts can be.
  MINFER_ASSIGN_OR_RETURN(Prompt one, with("1"));
  MINFER_ASSIGN_OR_RETURN(const Prompt other, with("x"));
  const auto end = std::ranges::mismatch(one.ids, other.ids).in1;
  one.ids.erase(end, one.ids.end());
  if (!one.ids.empty()) return std::move(one.ids);
  return invalid_argument("prompts of this model have no common beginning: nothing to compute");
}

/// Refuses a file that holds a conversation: it would be lost.
Result<std::unique_ptr<engine::SessionFile>> open_output(const Options& options,
                                                         const Loaded& loaded,
                                                         const SessionChoice& choice) {
  MINFER_ASSIGN_OR_RETURN(const engine::SessionIdentity identity,
                          session_identity(*loaded.engine, choice.options.kv_format));
  MINFER_ASSIGN_OR_RETURN(
      auto file,
      engine::SessionFile::open(options.out, identity, engine::SessionFile::Mode::kSession));
  if (file->state() == engine::SessionState() || file->state().extra == kPrefixMark) return file;
  return unsupported(
      fmt::format("{} holds a conversation, which would be lost: take another name", options.out));
}

/// Runs what is not in the file yet, a batch at a time.
Status compute(engine::Session& session, std::span<const engine::TokenId> ids,
               const Options& options) {
  ProgressBar bar("computing the prefix", !options.quiet);
  const auto batch = static_cast<std::size_t>(options.batch_size);
  for (auto at = static_cast<std::size_t>(session.cursor()); at < ids.size(); at += batch) {
    bar.update(static_cast<double>(at) / static_cast<double>(ids.size()));
    MINFER_RETURN_IF_ERROR(session.extend(ids.subspan(at, std::min(batch, ids.size() - at))));
  }
  return ok_status();
}

}  // namespace

Result<int> prime_command(const Invocation& invocation, const EnvSwitches& env) {
  const Options& options = invocation.options;
  if (!invocation.was_given("output")) {
    return invalid_argument(fmt::format(
        "no file to write given (--output). Example: minfer prime {} -f manual.txt -o manual.kv",
        options.model));
  }
  MINFER_RETURN_IF_ERROR(check_output_file(options.out, options.model));
  if (options.raw && !options.system.empty()) {
    return invalid_argument("--system and --raw exclude each other");
  }
  MINFER_ASSIGN_OR_RETURN(auto text, read_prompt(options));
  if (text && text->empty()) text.reset();
  if (!text && options.system.empty()) {
    return invalid_argument(fmt::format(
        "nothing to compute. Example: minfer prime {} -f manual.txt -o manual.kv", options.model));
  }
  const auto start = Clock::now();
  MINFER_ASSIGN_OR_RETURN(Loaded loaded, load(invocation, env));
  MINFER_ASSIGN_OR_RETURN(const auto ids, common_beginning(loaded.model(), options, text));
  const auto n = static_cast<std::int32_t>(ids.size());
  MINFER_ASSIGN_OR_RETURN(SessionChoice choice,
                          open_session(loaded, invocation, env, n, /*n_predict=*/0));
  engine::Session& session = *choice.session;
  MINFER_ASSIGN_OR_RETURN(const auto file, open_output(options, loaded, choice));
  const StopTarget target(session);
  print_header(loaded, choice, options);

  plan::SequenceRows rows = session.rows();
  const auto saved = std::ranges::mismatch(file->state().stream, ids).in2 - ids.begin();
  MINFER_RETURN_IF_ERROR(file->restore_rows(rows, static_cast<std::int32_t>(saved)).status());
  const std::int32_t n_saved = session.cursor();
  MINFER_RETURN_IF_ERROR(compute(session, ids, options));
  engine::SessionState state;
  state.stream = ids;
  state.extra = kPrefixMark;
  MINFER_RETURN_IF_ERROR(file->commit(state, rows));
  if (!options.quiet) {
    std::error_code none;
    print_note(fmt::format("Prefix: {} tokens, {} of them computed, in {:.2f} s | {} in {}\n", n,
                           n - n_saved, std::chrono::duration<double>(Clock::now() - start).count(),
                           megabytes(std::filesystem::file_size(options.out, none)), options.out));
  }
  return received_signal() != 0 ? 128 + received_signal() : 0;
}

}  // namespace minfer::app
