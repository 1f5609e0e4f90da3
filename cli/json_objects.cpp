// cli/json_objects.cpp - the objects that the --json documents of several commands share.
#include "cli/command.h"

namespace peel::cli {
namespace {

constexpr JsonKey revision[] = {
    {"number", "integer", "@N in this onion"},
    {"id", "string", "64 hexadecimal digits; the same on every machine"},
    {"generation", "integer", "1 + the greatest generation of its parents"},
    {"parents", "array", "their ids"},
    {"size", "integer", "bytes of the file"},
    {"content", "string", "content digest: peel1: and 64 hexadecimal digits"},
    {"bytes_added", "integer", "bytes the onion grew by"},
    {"time", "string", "when it was recorded, UTC"},
    {"mtime", "string", "modification time of the file, UTC"},
    {"mode", "string", "permission bits of the file, octal"},
    {"author", "string", ""},
    {"host", "string", ""},
    {"note", "string", ""},
    {"labels", "array", "torn, unhealthy, snapshot, merge, rollback"},
    {"branches", "array", "branches whose head it is; remote ones as REMOTE/BRANCH"},
    {"tags", "array", "tags on it"},
};

constexpr JsonKey change[] = {
    {"path", "string", "the object; for an attribute the object that carries it"},
    {"attribute", "string?", "name of the attribute"},
    {"kind", "string", "group, dataset, named_type, attribute or link"},
    {"what", "string",
     "added, removed, type_changed, reshaped, storage_changed, values_changed, target_changed or not_compared"},
    {"before", "string?", "short description"},
    {"after", "string?", "short description"},
    {"elements_changed", "integer?", "values_changed: how many"},
    {"elements", "integer?", "how many were compared"},
    {"max_difference", "number?", "numbers alone; null when infinite"},
    {"note", "string?", "more, for people"},
};

constexpr JsonKey transfer[] = {
    {"revisions", "integer", "revisions that moved"},
    {"chunks", "integer", "chunks that travelled"},
    {"chunks_reused", "integer", "chunks that were needed and there already"},
    {"bytes_sent", "integer", "on the wire"},
    {"bytes_received", "integer", "on the wire"},
};

constexpr JsonKey damage[] = {
    {"what", "string", "what is wrong"},
    {"revision", "integer?", "first revision seen to need it; absent: the file's structure"},
    {"offset", "integer?", "where in that revision"},
    {"length", "integer?", "bytes"},
    {"chunk", "string?", "digest of the chunk"},
};

constexpr JsonObject table[] = {
    {"revision", "a revision", revision},
    {"change", "what changed in one HDF5 object", change},
    {"transfer", "what travelled between two machines", transfer},
    {"damage", "one damaged place", damage},
};

}  // namespace

std::span<const JsonObject> json_objects() { return table; }

}  // namespace peel::cli
