// Prints docs/options.md (`make docs`).
#include <cstdio>

#include "help.h"

int main() { std::fputs(minfer::app::options_markdown().c_str(), stdout); }
