// Property: no bytes crash the superblock parser; more bytes behind a superblock never change what it says; and
// moving it moves the end of the file by as much.
#include <cstdlib>

#include "hdf5/helper/superblock.h"

using namespace peel;
using namespace peel::hdf5;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The signature is given: eight bytes to guess would keep the fuzzer outside for long.
  static constexpr unsigned char signature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  Buffer bytes;
  for (const unsigned char c : signature) bytes.push_back(static_cast<std::byte>(c));
  for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(data[i]));

  const auto here = parse_superblock(bytes, 0);
  Buffer longer = bytes;
  longer.resize(longer.size() + 100, std::byte{0xff});
  const auto padded = parse_superblock(longer, 0);
  if (here && (!padded || padded->end_of_file != here->end_of_file || padded->writer != here->writer)) std::abort();
  const auto moved = parse_superblock(bytes, 4096);
  if (here.ok() != moved.ok()) std::abort();
  if (here && here->end_of_file && moved->end_of_file && *moved->end_of_file != *here->end_of_file + 4096) std::abort();
  return 0;
}
