// hdf5/answer.h - reports as bytes: what the helper sends and peel decodes.
//
// Contract   answer = u8 outcome (0 report, 1 error). Report: u8 question, fields in the order of report.h;
//            strings and lists are counted, optional fields flagged. Error: u8 kind, string.
//            decode(encode(x)) == x for every report within the limits below.
// Errors     corrupt for anything else: the sender may have been taken over by a hostile file. An error
//            that the helper reports about the file comes back as that error; of its kinds only corrupt,
//            unsupported, limit, timeout and not_found are believed.
// Threads    Pure functions.
// Memory     Decoding allocates its input's size and about 300 bytes an item; counts are checked against the
//            bytes that are left and against items_max before anything grows.
#pragma once

#include "base/wire.h"
#include "hdf5/report.h"

namespace peel::hdf5 {

inline constexpr std::size_t text_size_max = 0xffff;      // one string; longer ones are cut by the sender
inline constexpr std::size_t dimensions_max = 32;         // H5S_MAX_RANK

Buffer encode_answer(const Health& health);
Buffer encode_answer(const Listing& listing);
Buffer encode_answer(const FileDiff& diff);
Buffer encode_answer(const Error& error);

Result<Health> decode_health(Bytes answer);
// `items_max` bounds objects and attributes together, or changes.
Result<Listing> decode_listing(Bytes answer, std::size_t items_max);
Result<FileDiff> decode_file_diff(Bytes answer, std::size_t items_max);

}  // namespace peel::hdf5
