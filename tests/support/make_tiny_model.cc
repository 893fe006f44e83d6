// make_tiny_model: writes tiny models to files.
//   make_tiny_model --all DIR                                    every one, as DIR/NAME.gguf
//   make_tiny_model OUT.gguf [ARCH [TYPE]] [--experts] [--tied] [--biases] [--no-tokenizer]
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include "quant/codec.h"
#include "tests/support/tiny_model.h"

namespace {

using minfer::Status;
using minfer::tests::TinyModelSpec;

int fail(std::string_view text) {
  fmt::print(stderr, "make_tiny_model: {}\n", text);
  return 1;
}

Status write_all(const std::string& folder) {
  for (const TinyModelSpec& spec : minfer::tests::all_tiny_models()) {
    const std::string path =
        fmt::format("{}/{}.gguf", folder, minfer::tests::tiny_model_name(spec));
    MINFER_RETURN_IF_ERROR(minfer::tests::write_tiny_model(spec, path));
    fmt::print("{}\n", path);
  }
  return minfer::ok_status();
}

Status read_option(std::string_view option, int place, TinyModelSpec& spec) {
  if (option == "--experts") {
    spec.experts = true;
  } else if (option == "--tied") {
    spec.tied = true;
  } else if (option == "--biases") {
    spec.biases = true;
  } else if (option == "--no-tokenizer") {
    spec.tokenizer = false;
  } else if (option.starts_with("--")) {
    return minfer::invalid_argument(fmt::format("unknown option {}", option));
  } else if (place == 0) {
    spec.arch = option;
  } else {
    for (const minfer::quant::Codec& codec : minfer::quant::all_codecs()) {
      if (minfer::dtype_name(codec.dtype) != option) continue;
      spec.dtype = codec.dtype;
      return minfer::ok_status();
    }
    return minfer::invalid_argument(fmt::format("unknown type {}", option));
  }
  return minfer::ok_status();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--all") == 0) {
    const Status status = write_all(argv[2]);
    return status.ok() ? 0 : fail(status.message());
  }
  if (argc < 2) return fail("usage: make_tiny_model --all DIR | OUT.gguf [ARCH [TYPE]] [options]");
  TinyModelSpec spec;
  int place = 0;
  for (int i = 2; i < argc; ++i) {
    const Status status = read_option(argv[i], place, spec);
    if (!status.ok()) return fail(status.message());
    if (argv[i][0] != '-') ++place;
  }
  const Status status = minfer::tests::write_tiny_model(spec, argv[1]);
  return status.ok() ? 0 : fail(status.message());
}
