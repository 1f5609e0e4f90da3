// REV as people write it: @N, =HEXID, a hex prefix, a branch, a tag, REV~K, BRANCH@{time}.
#include <algorithm>
#include <charconv>
#include <ctime>
#include <limits>

#include "base/hex.h"
#include "onion/impl.h"

namespace peel {

using namespace onion;

namespace {

constexpr std::size_t hex_prefix_min = 6;

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

// Local time, as `date` shows it: 2026-11-01, 2026-11-01T12:00 or 2026-11-01T12:00:30.
std::optional<std::int64_t> parse_time_ns(const std::string& text) {
  for (const char* format : {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d"}) {
    std::tm tm{};
    tm.tm_isdst = -1;
    const char* end = ::strptime(text.c_str(), format, &tm);
    if (!end || *end != '\0') continue;
    constexpr std::int64_t second = 1'000'000'000, last = std::numeric_limits<std::int64_t>::max() / second;
    return std::clamp(static_cast<std::int64_t>(std::mktime(&tm)), -last, last) * second;
  }
  return std::nullopt;
}

class Resolver {
 public:
  explicit Resolver(const Onion::Impl& m) : m_(m) {}

  Result<std::uint64_t> resolve(std::string_view rev) const {
    if (const auto dots = rev.find(".."); dots != std::string_view::npos)
      return bad(rev, "two revisions are two words, as in @1 @3");
    // Suffixes ~K peel off from the right.
    std::uint64_t steps = 0;
    std::string_view base = rev;
    for (auto tilde = base.rfind('~'); tilde != std::string_view::npos; tilde = base.rfind('~')) {
      const auto more = tilde + 1 == base.size() ? std::optional<std::uint64_t>(1) : parse_number(base.substr(tilde + 1));
      if (!more || *more > counter_max - steps) return bad(rev, "after ~ comes a number");
      steps += *more;
      base = base.substr(0, tilde);
    }
    PEEL_TRY(const auto from, resolve_base(base), "");
    return back(from, steps, rev);
  }

 private:
  Result<std::uint64_t> resolve_base(std::string_view rev) const {
    if (const auto at = rev.find("@{"); at != std::string_view::npos && rev.back() == '}')
      return at_time(rev.substr(0, at), std::string(rev.substr(at + 2, rev.size() - at - 3)), rev);
    if (rev.empty() || rev == "HEAD") return head(m_.current_branch());
    if (rev[0] == '@') {
      const auto number = parse_number(rev.substr(1));
      if (!number) return bad(rev, "after @ comes a revision number");
      PEEL_TRY(const auto i, m_.index_of_number(*number), "");
      return m_.table.summaries()[i].number;
    }
    if (rev[0] == '=') return by_prefix(rev.substr(1), rev);
    const std::string name(rev);
    for (const RefKind kind : {RefKind::branch, RefKind::tag, RefKind::remote})
      if (const auto* ref = m_.find_ref(kind, name)) return number_of(*ref);
    if (rev.size() >= hex_prefix_min && rev.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos) return by_prefix(rev, rev);
    const std::string hint = parse_number(rev) ? "revision number " + name + " is written @" + name : "peel log lists them";
    return fail(ErrorKind::not_found, m_.path + ": no branch, tag or revision called '" + escape_for_terminal(rev) + "' (" + hint + ")");
  }

  Error bad(std::string_view rev, const char* why) const {
    return fail(ErrorKind::usage, "'" + escape_for_terminal(rev) + "' is no revision: " + why);
  }
  // Where refs may be missing, a branch may stand further back than it should: then only fixed names will do.
  Result<std::uint64_t> number_of(const StoredRef& ref) const {
    if (m_.broken && ref.ref.kind != RefKind::tag)
      return fail(ErrorKind::corrupt, m_.path + ": where " + escape_for_terminal(ref.ref.name) + " stands cannot be trusted, this history is damaged; name a revision "
                                      "like @3 (peel log lists what can be read)");
    PEEL_TRY(const auto commit, m_.read_commit(ref.commit), "");
    return commit->number;
  }
  Result<std::uint64_t> head(const std::string& branch) const {
    const auto* ref = m_.find_ref(RefKind::branch, branch);
    if (!ref) return fail(ErrorKind::not_found, m_.path + ": branch " + escape_for_terminal(branch) + " has no revision yet");
    return number_of(*ref);
  }
  Result<std::uint64_t> back(std::uint64_t number, std::uint64_t steps, std::string_view rev) const {
    for (; steps > 0; --steps) {
      PEEL_TRY(const auto i, m_.index_of_number(number), "");
      const auto& parent = m_.table.summaries()[i].first_parent;
      if (!parent) return fail(ErrorKind::not_found, m_.path + ": '" + escape_for_terminal(rev) + "' goes back beyond the first revision kept");
      number = *parent;
    }
    return number;
  }
  Result<std::uint64_t> at_time(std::string_view branch, const std::string& when, std::string_view rev) const {
    const auto time_ns = parse_time_ns(when);
    if (!time_ns) return bad(rev, "the time is written 2026-11-01T12:00");
    PEEL_TRY(auto number, resolve_base(branch), "");
    while (true) {
      PEEL_TRY(const auto i, m_.index_of_number(number), "");
      const auto& s = m_.table.summaries()[i];
      if (s.time_ns <= *time_ns) return number;
      if (!s.first_parent) return fail(ErrorKind::not_found, m_.path + ": nothing was recorded before " + when);
      number = *s.first_parent;
    }
  }
  Result<std::uint64_t> by_prefix(std::string_view hex, std::string_view rev) const {
    if (hex.size() < hex_prefix_min || hex.size() > 64) return bad(rev, "an id has 6 to 64 hexadecimal digits");
    std::string wanted(hex);
    std::transform(wanted.begin(), wanted.end(), wanted.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    PEEL_CHECK(m_.load_history(), "");
    std::optional<std::uint64_t> found;
    for (const auto& s : m_.table.summaries()) {
      if (to_hex(Bytes(s.id.bytes).first((wanted.size() + 1) / 2)).compare(0, wanted.size(), wanted) != 0) continue;
      if (found) return fail(ErrorKind::usage, "'" + std::string(hex) + "' begins more than one revision id: write more digits");
      found = s.number;
    }
    if (!found) return fail(m_.broken ? ErrorKind::corrupt : ErrorKind::not_found, m_.path + ": no revision id begins with '" + escape_for_terminal(hex) + "'");
    return *found;
  }

  const Onion::Impl& m_;
};

}  // namespace

Result<std::uint64_t> Onion::resolve(std::string_view rev) const { return Resolver(*impl_).resolve(rev); }

}  // namespace peel
