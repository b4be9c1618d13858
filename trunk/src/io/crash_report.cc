#include "io/crash_report.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <elf.h>
#include <link.h>

#include "base/version.h"

namespace weir::io {
namespace {

constexpr size_t kMaxModules = 48;
constexpr size_t kMaxName = 120;  // of a function or file

struct Module {
    uint64_t base = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t code_begin = 0;
    uint64_t code_end = 0;
    std::array<char, 64> name{};  // of the file, without its folder
};

// Written once by note_program(), read by handlers.
struct Program {
    std::array<Module, kMaxModules> modules;
    size_t count = 0;
    std::array<char, 40> build_id{};
    size_t build_id_size = 0;
    std::array<char, 256> path{};  // of the program
};

Program& program() {
    static Program instance;
    return instance;
}

void note_build_id(const dl_phdr_info& info, const ElfW(Phdr) & header) {
    const auto* at = reinterpret_cast<const char*>(info.dlpi_addr + header.p_vaddr);
    const char* end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        ElfW(Nhdr) note;
        std::memcpy(&note, at, sizeof note);
        const char* name = at + sizeof note;
        const char* content = name + (note.n_namesz + 3) / 4 * 4;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            std::memcmp(name, "GNU", 4) == 0) {
            constexpr std::string_view kDigits = "0123456789abcdef";
            Program& own = program();
            for (uint32_t i = 0; i < note.n_descsz && i < own.build_id.size() / 2; i++) {
                const auto byte = static_cast<unsigned char>(content[i]);
                own.build_id[own.build_id_size++] = kDigits[byte >> 4];
                own.build_id[own.build_id_size++] = kDigits[byte & 15];
            }
            return;
        }
        at = content + (note.n_descsz + 3) / 4 * 4;
    }
}

int note_module(dl_phdr_info* info, size_t, void*) {
    Program& own = program();
    if (own.count == kMaxModules) {
        return 1;
    }
    Module& module = own.modules[own.count];
    module.base = info->dlpi_addr;
    module.begin = UINT64_MAX;
    module.code_begin = UINT64_MAX;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr)& header = info->dlpi_phdr[i];
        if (header.p_type == PT_LOAD) {
            const uint64_t begin = module.base + header.p_vaddr;
            const uint64_t end = begin + header.p_memsz;
            module.begin = std::min(module.begin, begin);
            module.end = std::max(module.end, end);
            if ((header.p_flags & PF_X) != 0) {
                module.code_begin = std::min(module.code_begin, begin);
                module.code_end = std::max(module.code_end, end);
            }
        } else if (header.p_type == PT_NOTE && own.count == 0 && own.build_id_size == 0) {
            note_build_id(*info, header);
        }
    }
    const std::string_view path = info->dlpi_name != nullptr ? info->dlpi_name : "";
    const std::string_view name = path.substr(path.rfind('/') + 1);
    std::copy_n(name.data(), std::min(name.size(), module.name.size() - 1), module.name.data());
    own.count++;
    return 0;
}

const Module* module_of(uint64_t address) {
    const Program& own = program();
    for (size_t i = 0; i < own.count; i++) {
        if (address >= own.modules[i].begin && address < own.modules[i].end) {
            return &own.modules[i];
        }
    }
    return nullptr;
}

bool is_program(const Module& module) {
    return &module == program().modules.data();
}

// "/usr/bin/weir(+0x1234)" (a library: without its folder), or "0x7f..." where no file is known.
void add_place(SafeText& out, uint64_t address) {
    const Module* module = module_of(address);
    if (module == nullptr) {
        out.add_hex(address);
        return;
    }
    out.add(is_program(*module) ? program().path.data() : module->name.data()).add("(+");
    out.add_hex(address - module->base).add(")");
}

// The program's own file, mapped while it lives.
class MappedProgram {
  public:
    MappedProgram() {
        const int fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            return;
        }

        struct stat facts {};

        if (::fstat(fd, &facts) == 0 && facts.st_size > 0) {
            // Not by mmap(): that one is wrapped (io/stacks.cc), and the crash may have come while
            // a stack was being mapped.
            const long at = ::syscall(SYS_mmap, nullptr, static_cast<size_t>(facts.st_size),
                                      PROT_READ, MAP_PRIVATE, fd, 0L);
            if (at != -1) {
                data_ = reinterpret_cast<const char*>(at);
                size_ = static_cast<size_t>(facts.st_size);
            }
        }
        ::close(fd);
    }

    ~MappedProgram() {
        if (data_ != nullptr) {
            ::munmap(const_cast<char*>(data_), size_);
        }
    }

    MappedProgram(const MappedProgram&) = delete;
    MappedProgram& operator=(const MappedProgram&) = delete;

    // `count` of T at a place in the file; nullptr when it does not lie within.
    template <typename T>
    const T* at(uint64_t offset, uint64_t count = 1) const {
        const bool inside =
            data_ != nullptr && offset <= size_ && count <= (size_ - offset) / sizeof(T);
        return inside ? reinterpret_cast<const T*>(data_ + offset) : nullptr;
    }

  private:
    const char* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace

SafeText& SafeText::add(std::string_view text) {
    const size_t size = std::min(text.size(), buffer_.size() - size_);
    std::copy_n(text.data(), size, buffer_.data() + size_);
    size_ += size;
    return *this;
}

SafeText& SafeText::add_hex(uint64_t number) {
    std::array<char, 16> digits;
    size_t at = digits.size();
    do {
        digits[--at] = "0123456789abcdef"[number & 15];
        number >>= 4;
    } while (number != 0);
    return add("0x").add({digits.data() + at, digits.size() - at});
}

SafeText& SafeText::add_decimal(uint64_t number, int digits) {
    std::array<char, 20> text;
    size_t at = text.size();
    do {
        text[--at] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (at > 0 && text.size() - at < static_cast<size_t>(digits)) {
        text[--at] = '0';
    }
    return add({text.data() + at, text.size() - at});
}

// The date of a day since 1970 by counting in eras of 400 years that begin in March, so that the
// leap day is the last of its year. gmtime_r() takes a lock.
SafeText& SafeText::add_time(int64_t unix_seconds, int64_t milliseconds) {
    constexpr int64_t kDaySeconds = 86'400;
    constexpr int64_t kEraDays = 146'097;
    constexpr int64_t kDaysToMarch0 = 719'468;  // from 0000-03-01 to 1970-01-01
    const int64_t days = unix_seconds / kDaySeconds + kDaysToMarch0;
    const int64_t second = unix_seconds % kDaySeconds;
    const int64_t era = days / kEraDays;
    const int64_t day_of_era = days % kEraDays;
    const int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
    const int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t month_from_march = (5 * day_of_year + 2) / 153;
    const int64_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    const int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    const int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
    const auto number = [this](int64_t value, int digits) -> SafeText& {
        return add_decimal(static_cast<uint64_t>(value), digits);
    };
    number(year, 4).add("-");
    number(month, 2).add("-");
    number(day, 2).add("T");
    number(second / 3600, 2).add(":");
    number(second / 60 % 60, 2).add(":");
    number(second % 60, 2).add(".");
    return number(milliseconds, 3).add("Z");
}

std::string_view signal_name(int signal) {
    switch (signal) {
        case SIGSEGV: return "SIGSEGV";
        case SIGBUS: return "SIGBUS";
        case SIGABRT: return "SIGABRT";
        case SIGILL: return "SIGILL";
        case SIGFPE: return "SIGFPE";
        default: return "?";
    }
}

void write_crash_line(SafeText& out, const CrashFacts& facts) {
    out.add_time(facts.unix_seconds, facts.milliseconds).add(" error ");
    if (!facts.client.empty()) {
        out.add("[").add(facts.client).add("] ");
    }
    out.add("crashed signal=").add(signal_name(facts.signal));
    if (facts.has_address) {
        out.add(" address=").add_hex(facts.address);
    }
    if (!facts.coroutine.empty()) {
        out.add(" coroutine=\"").add(facts.coroutine).add("\"");
    }
    out.add(" thread=").add(facts.thread).add(" version=").add(kVersion);
    out.add(" build=").add(build_id().empty() ? "?" : build_id()).add("\n");
}

void write_crash_frame(SafeText& out, size_t number, const void* address, bool named) {
    const auto at = reinterpret_cast<uint64_t>(address);
    out.add("  #").add_decimal(number).add(" ");
    add_place(out, at);
    const Module* module = module_of(at);
    if (named && module != nullptr && is_program(*module)) {
        std::array<char, kMaxName> name;
        const std::string_view symbol = program_symbol(at - module->base, name);
        if (!symbol.empty()) {
            out.add(" ").add(symbol);
        }
    }
    out.add("\n");
}

void write_crash_json(SafeText& out, const CrashFacts& facts, std::span<void* const> frames) {
    out.add("{\"time\":\"").add_time(facts.unix_seconds, facts.milliseconds);
    out.add("\",\"level\":\"error\"");
    const auto member = [&out](std::string_view name, std::string_view value) {
        if (!value.empty()) {
            out.add(",\"").add(name).add("\":\"").add(value).add("\"");
        }
    };
    member("id", facts.client);
    member("message", "crashed");
    member("signal", signal_name(facts.signal));
    if (facts.has_address) {
        out.add(",\"address\":\"").add_hex(facts.address).add("\"");
    }
    member("coroutine", facts.coroutine);
    member("thread", facts.thread);
    member("version", kVersion);
    member("build", build_id());
    out.add(",\"stack\":[");
    bool first = true;
    for (const void* frame : frames) {
        out.add(first ? "\"" : ",\"");
        first = false;
        add_place(out, reinterpret_cast<uint64_t>(frame));
        out.add("\"");
    }
    out.add("]}\n");
}

void note_program() {
    Program& own = program();
    own = {};
    dl_iterate_phdr(&note_module, nullptr);
    (void)!::readlink("/proc/self/exe", own.path.data(), own.path.size() - 1);
}

bool is_known_code(uint64_t address) {
    const Module* module = module_of(address);
    return module != nullptr && address >= module->code_begin && address < module->code_end;
}

std::string_view build_id() {
    return {program().build_id.data(), program().build_id_size};
}

std::string_view program_symbol(uint64_t offset, std::span<char> out) {
    const MappedProgram file;
    const auto* header = file.at<ElfW(Ehdr)>(0);
    if (header == nullptr) {
        return {};
    }
    const auto* sections = file.at<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
    for (size_t i = 0; sections != nullptr && i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum) {
            continue;
        }
        const size_t count = sections[i].sh_size / sizeof(ElfW(Sym));
        const auto* symbols = file.at<ElfW(Sym)>(sections[i].sh_offset, count);
        const ElfW(Shdr)& strings = sections[sections[i].sh_link];
        const auto* names = file.at<char>(strings.sh_offset, strings.sh_size);
        for (size_t n = 0; symbols != nullptr && names != nullptr && n < count; n++) {
            const ElfW(Sym)& symbol = symbols[n];
            if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && offset >= symbol.st_value &&
                offset < symbol.st_value + symbol.st_size && symbol.st_name < strings.sh_size) {
                const size_t size = strnlen(names + symbol.st_name,
                                            std::min(out.size(), strings.sh_size - symbol.st_name));
                std::copy_n(names + symbol.st_name, size, out.data());
                return {out.data(), size};
            }
        }
    }
    return {};
}

}  // namespace weir::io
