// Private to io/: what a crash says, put together by async-signal-safe means only.
//
// note_program() once, at start: what may be looked up then and not in a handler. The report is
// text lines, or one JSON line where the log is JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weir::io {

// Text into a buffer of the caller; what does not fit is cut.
class SafeText {
  public:
    explicit SafeText(std::span<char> buffer) : buffer_(buffer) {}

    SafeText& add(std::string_view text);
    SafeText& add_hex(uint64_t number);                      // 0x1f
    SafeText& add_decimal(uint64_t number, int digits = 1);  // at least `digits`, zeros in front
    SafeText& add_time(int64_t unix_seconds, int64_t milliseconds);  // as wall_time_text()

    std::string_view text() const { return {buffer_.data(), size_}; }

    void clear() { size_ = 0; }

    void cut(size_t size) { size_ = size; }  // to no more than it has

  private:
    std::span<char> buffer_;
    size_t size_ = 0;
};

struct CrashFacts {
    int signal = 0;
    bool has_address = false;
    uint64_t address = 0;        // that was touched
    std::string_view thread;     // "weir", "weir-worker"
    std::string_view coroutine;  // empty: none runs
    std::string_view client;     // empty: none
    int64_t unix_seconds = 0;
    int64_t milliseconds = 0;
};

// "SIGSEGV"; a literal.
std::string_view signal_name(int signal);

// "2026-.. error [id] crashed signal=SIGSEGV address=0x0 coroutine=rtmp thread=weir version=..
// build=..", with a newline.
void write_crash_line(SafeText& out, const CrashFacts& facts);

// "  #3 /usr/bin/weir(+0x1234) name\n": the address as offset in its file, which addr2line takes,
// and for the program, if it is to be `named`, the function's name as in its symbol table.
void write_crash_frame(SafeText& out, size_t number, const void* address, bool named = true);

// Both as one JSON object, with a newline.
void write_crash_json(SafeText& out, const CrashFacts& facts, std::span<void* const> frames);

// Where programs and libraries lie now, and the build id of the program. Libraries loaded later are
// shown by address only.
void note_program();

// The address lies in the code of the program or of one of those libraries.
bool is_known_code(uint64_t address);

// The build id that the linker made, 40 hex digits; empty when the program has none.
std::string_view build_id();

// The function that holds an offset of the program's own file, from its symbol table: mangled,
// copied to `out`. Opens and maps the file. Empty when it is stripped.
std::string_view program_symbol(uint64_t offset, std::span<char> out);

}  // namespace weir::io
