// onion_driver - a process to kill, to trace and to make fail: it works on one onion and writes down what was
// acknowledged.
//
//   onion_driver create ONION
//   onion_driver commit ONION RECORD SEED COUNT    described writes; each id goes to RECORD once the call returned
//   onion_driver scan ONION RECORD SEED COUNT      whole files of some megabytes
//   onion_driver refs ONION RECORD SEED COUNT      commits and tags
//   onion_driver gc ONION RECORD SEED COUNT        commits, and a collection after each
//
// Exits with the error's exit code and says the error on stderr.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/hex.h"
#include "base/unique_fd.h"
#include "testing/sample_data.h"

using namespace peel;

namespace {

struct Job {
  std::string kind, path, record;
  std::uint64_t seed, count;
};

CommitOptions options_of(std::uint64_t seed) {
  CommitOptions o;
  o.meta.author = "driver";
  o.meta.note = "seed " + std::to_string(seed);
  return o;
}

// One line, one write: a kill leaves a whole line or none.
Status write_down(int fd, const RevisionId& id) {
  const std::string line = to_hex(id) + "\n";
  if (::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return fail(ErrorKind::io, "the record");
  return {};
}

Result<CommitResult> commit_once(Onion& onion, const Job& job, std::mt19937_64& random) {
  if (job.kind == "scan") {
    const Buffer content = random_bytes(random, 1'000'000 + random() % 5'000'000);
    return onion.commit_scan(BufferSource(content), options_of(job.seed));
  }
  const Buffer piece = random_bytes(random, 1 + random() % 9000);
  const Write write{random() % 50'000, piece};
  return onion.commit_writes({&write, 1}, 60'000, options_of(job.seed));
}

Status work(const Job& job) {
  if (job.kind == "create") {
    PEEL_TRY([[maybe_unused]] auto made, Onion::create(job.path), "");
    return {};
  }
  UniqueFd record(::open(job.record.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!record) return fail(ErrorKind::usage, "no record file");
  OpenOptions open;
  open.access = Access::write;
  PEEL_TRY(auto onion, Onion::open(job.path, open), "");
  std::mt19937_64 random(job.seed);
  for (std::uint64_t i = 0; i < job.count; ++i) {
    PEEL_TRY(const auto result, commit_once(onion, job, random), "");
    PEEL_CHECK(write_down(record.get(), result.revision.id), "");
    if (job.kind == "gc") {
      GcPolicy policy;  // takes only what no ref reaches
      policy.defer = random() % 3 == 0;
      PEEL_TRY([[maybe_unused]] auto report, onion.gc(policy), "");
      if (policy.defer) PEEL_CHECK(onion.flush(), "");
    }
    if (job.kind == "refs") {
      RefChange tag{RefKind::tag, "t" + std::to_string(job.seed) + "-" + std::to_string(i),
                    RevisionId{}, result.revision.id,
                    "note",       "test"};
      PEEL_CHECK(onion.update_refs({&tag, 1}), "");
    }
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || (std::string(argv[1]) != "create" && argc < 6)) return 2;
  Job job{argv[1], argv[2], argc > 3 ? argv[3] : "", argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 0,
          argc > 5 ? std::strtoull(argv[5], nullptr, 10) : 0};
  const Status done = work(job);
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return exit_code(done.error().kind());
}
