// Writes the golden files and their manifest into a directory: make_golden DIRECTORY. README.md says when.
#include <cstdio>
#include <fstream>

#include "golden/golden_files.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_golden DIRECTORY\n");
    return 2;
  }
  const std::string directory = argv[1];
  const auto facts = peel::golden::make_golden_files(directory);
  if (!facts) {
    std::fprintf(stderr, "make_golden: %s\n", facts.error().message().c_str());
    return peel::exit_code(facts.error().kind());
  }
  std::ofstream out(directory + "/manifest.json");
  out << facts->dump(1) << "\n";
  return out.flush() ? 0 : 5;
}
