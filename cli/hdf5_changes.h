// cli/hdf5_changes.h - what changed inside an HDF5 file, between two revisions or up to the working file.
//
// Contract   Parsing happens in hdf5's confined helper. Whatever goes wrong there is a line of text, never a failed
//            command; only a request to stop is an error.
// Threads    One owner.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "hdf5/hdf5.h"
#include "peel/onion.h"

namespace peel::cli {

// A revision as a Source. The reader must outlive it.
class RevisionSource final : public Source {
public:
  explicit RevisionSource(const Reader& reader) : reader_(reader) {}
  std::uint64_t size() const override { return reader_.size(); }
  Result<std::size_t> read_at(std::uint64_t offset, MutableBytes out) const override {
    return reader_.read(offset, out);
  }

private:
  const Reader& reader_;
};

struct Hdf5Outcome {
  enum class State : std::uint8_t { off, no_hdf5, compared, failed } state = State::off;
  std::string why;      // failed: what to tell; not escaped
  hdf5::FileDiff diff;  // compared
};

struct Hdf5Request {
  std::string path;  // only this object and what is below it; empty: all
  std::optional<std::vector<Range>> changed;
  hdf5::Limits limits = hdf5::patient();
};

Result<Hdf5Outcome> compare_hdf5(const Context& context, const Source& before, const Source& after,
                                 const Hdf5Request& request);

// The changes a revision made to its first parent; nothing for a root, or when no byte changed.
Result<std::optional<Hdf5Outcome>> changes_of(const Context& context, const Onion& onion, const RevisionInfo& revision,
                                              Hdf5Request request);
// The same; where damage is in the way, that is the outcome: a list goes on past it.
Result<std::optional<Hdf5Outcome>> changes_if_readable(const Context& context, const Onion& onion, const RevisionInfo& revision,
                                              Hdf5Request request);
void print_changes(Output& out, const Hdf5Outcome& outcome, const char* indent);

// What is wrong with a file as HDF5, escaped; nothing when it is healthy, or no HDF5 file and not named like one.
std::optional<std::string> hdf5_illness(const Context& context, const Source& source, const std::string& file);

// "~ /temperature  values changed: 3 of 1,000 elements, greatest difference 0.5"
std::string change_line(const hdf5::Change& change);
void write_changes(JsonWriter& json, const hdf5::FileDiff& diff);  // an array

}  // namespace peel::cli
