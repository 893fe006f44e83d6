#include "commands.h"

int main(int argc, char** argv) { return minfer::app::main_entry(argc, argv); }
