#include "hdf5/helper/open_file.h"

#include <algorithm>
#include <cstdlib>

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

namespace peel::hdf5 {

struct OpenFile::Driven {
  const Source* source = nullptr;
  bool may_open = false;
  bool rehearsing = false;
  bool source_failed = false;
  std::vector<Range> rehearsed;
  std::uint64_t raw_bytes_read = 0;
};

namespace {

using Driven = OpenFile::Driven;

// libhdf5 looks at `base` only; the rest is ours.
struct DriverFile {
  H5FD_t base;
  Driven* driven;
  haddr_t end_of_allocation;
};

DriverFile* of(H5FD_t* file) { return reinterpret_cast<DriverFile*>(file); }
const DriverFile* of(const H5FD_t* file) { return reinterpret_cast<const DriverFile*>(file); }

hid_t driver_id = -1;  // set once by start_library

H5FD_t* driver_open(const char*, unsigned flags, hid_t access_list, haddr_t) {
  const void* info = H5Pget_driver_info(access_list);
  if (!info || (flags & (H5F_ACC_RDWR | H5F_ACC_CREAT | H5F_ACC_TRUNC)) != 0) return nullptr;
  Driven* driven = *static_cast<Driven* const*>(info);
  if (!std::exchange(driven->may_open, false)) return nullptr;
  auto* file = static_cast<DriverFile*>(std::calloc(1, sizeof(DriverFile)));
  if (!file) return nullptr;
  file->driven = driven;
  return &file->base;
}

herr_t driver_close(H5FD_t* file) {
  std::free(of(file));
  return 0;
}

int driver_compare(const H5FD_t* a, const H5FD_t* b) {
  const auto x = reinterpret_cast<std::uintptr_t>(of(a)->driven), y = reinterpret_cast<std::uintptr_t>(of(b)->driven);
  return x < y ? -1 : x > y ? 1 : 0;
}

herr_t driver_query(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_ACCUMULATE_METADATA_READ | H5FD_FEAT_DATA_SIEVE;
  return 0;
}

haddr_t driver_get_eoa(const H5FD_t* file, H5FD_mem_t) { return of(file)->end_of_allocation; }

herr_t driver_set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  of(file)->end_of_allocation = address;
  return 0;
}

haddr_t driver_get_eof(const H5FD_t* file, H5FD_mem_t) { return of(file)->driven->source->size(); }

herr_t driver_read(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, size_t size, void* buffer) {
  Driven& driven = *of(file)->driven;
  const haddr_t end = of(file)->end_of_allocation;
  if (address > end || size > end - address) return -1;
  const bool raw = type == H5FD_MEM_DRAW;
  if (raw && driven.rehearsing) {
    driven.rehearsed.push_back(Range{address, size});
    return 0;
  }
  const std::uint64_t there = driven.source->size();
  const std::size_t within = address >= there ? 0 : static_cast<std::size_t>(std::min<std::uint64_t>(size, there - address));
  if (raw && within < size) return -1;
  auto* bytes = static_cast<std::byte*>(buffer);
  if (within > 0) {
    const auto n = driven.source->read_at(address, MutableBytes(bytes, within));
    if (!n || *n < within) {
      driven.source_failed = true;
      return -1;
    }
  }
  std::memset(bytes + within, 0, size - within);
  if (raw) driven.raw_bytes_read += size;
  return 0;
}

herr_t driver_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) { return -1; }

H5FD_class_t driver_class() {
  static constexpr H5FD_mem_t free_lists[] = H5FD_FLMAP_DICHOTOMY;
  H5FD_class_t out{};
#if H5_VERSION_GE(1, 14, 0)
  out.version = H5FD_CLASS_VERSION;
  out.value = 700;  // of the range for drivers nobody registered
#endif
  out.name = "peel";
  out.maxaddr = static_cast<haddr_t>(INT64_MAX);
  out.fc_degree = H5F_CLOSE_WEAK;
  out.fapl_size = sizeof(Driven*);
  out.open = driver_open;
  out.close = driver_close;
  out.cmp = driver_compare;
  out.query = driver_query;
  out.get_eoa = driver_get_eoa;
  out.set_eoa = driver_set_eoa;
  out.get_eof = driver_get_eof;
  out.read = driver_read;
  out.write = driver_write;
  std::copy(std::begin(free_lists), std::end(free_lists), out.fl_map);
  return out;
}

// Properties libhdf5 keeps for its h5clear tool. Where a version lacks one, such files do not open; that is all.
void be_lenient(hid_t access_list) {
  for (const char* name : {"clear_status_flags", "skip_eof_check"}) {
    const hbool_t yes = true;
    if (H5Pexist(access_list, name) > 0) H5Pset(access_list, name, &yes);
  }
}

}  // namespace

bool start_library() {
  if (driver_id >= 0) return true;
  H5dont_atexit();
  if (H5open() < 0) return false;
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
  static const H5FD_class_t driver = driver_class();
  driver_id = H5FDregister(&driver);
  return driver_id >= 0;
}

OpenFile::OpenFile(std::unique_ptr<Driven> driven, Handle file) : driven_(std::move(driven)), file_(std::move(file)) {}
OpenFile::OpenFile(OpenFile&&) noexcept = default;
OpenFile& OpenFile::operator=(OpenFile&&) noexcept = default;
OpenFile::~OpenFile() = default;

Result<OpenFile> OpenFile::open(const Source& source, Strictness strictness) {
  auto driven = std::make_unique<Driven>();
  driven->source = &source;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS));
  Driven* const info = driven.get();
  if (H5Pset_driver(access.get(), driver_id, &info) < 0) return fail(ErrorKind::corrupt, take_library_error());
  // Chunks are read once, in order: keep what is being read, drop it when it has been.
  H5Pset_cache(access.get(), 0, 4099, OpenFile::chunk_cache_bytes, 1.0);
  if (strictness == Strictness::lenient) be_lenient(access.get());
  driven->may_open = true;
  Handle file(H5Fopen("file", H5F_ACC_RDONLY, access.get()));
  driven->may_open = false;
  if (!file) return fail(ErrorKind::corrupt, take_library_error());
  return OpenFile(std::move(driven), std::move(file));
}

std::uint64_t OpenFile::raw_bytes_read() const { return driven_->raw_bytes_read; }
bool OpenFile::source_failed() const { return driven_->source_failed; }

void OpenFile::begin_rehearsal() {
  driven_->rehearsed.clear();
  driven_->rehearsing = true;
}

std::optional<Range> OpenFile::end_rehearsal(bool done) {
  driven_->rehearsing = false;
  if (!done) H5Eclear2(H5E_DEFAULT);
  if (!done || driven_->rehearsed.size() != 1) return std::nullopt;
  return driven_->rehearsed.front();
}

}  // namespace peel::hdf5
