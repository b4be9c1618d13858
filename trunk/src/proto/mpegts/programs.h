// Which programme of a transport stream is taken: follows PAT and PMTs as they come and change.
//
// Taken is the one that was asked for by its number, else the first with video that can be cut into
// units, else the first with any video, else the first. It stays as long as the PAT names it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "proto/mpegts/psi.h"

namespace weir::mpegts {

inline constexpr size_t kMaxPrograms = 64;      // whose PMTs are followed
inline constexpr size_t kMaxPatEntries = 1024;  // of all sections; more are not read

class Programs {
  public:
    // So many PMTs of one programme are waited for before those that never came are given up.
    static constexpr uint32_t kPatience = 3;

    // `wanted`: its number; 0: any.
    explicit Programs(uint16_t wanted) : wanted_(wanted) {}

    // A section with a right CRC. True: pmt_pids(), or the programme that is taken, has changed.
    bool on_pat(ByteSpan section);
    bool on_pmt(uint16_t pid, ByteSpan section);

    // Where PMTs are looked for; none twice.
    std::vector<uint16_t> pmt_pids() const;

    // The programme that is taken; null: none yet. Good until the next call of the two above.
    const Pmt* taken() const;

    // Programmes that the PAT names.
    size_t count() const { return entries_.size(); }

  private:
    struct Program {
        Pat::Entry entry;
        std::optional<Pmt> pmt;
        uint32_t seen = 0;
    };

    struct Section {
        uint8_t number = 0;
        std::vector<Pat::Entry> entries;
    };

    void follow();
    bool choose();
    const Program* best() const;

    uint16_t wanted_;
    std::optional<uint8_t> version_;   // of the sections
    std::vector<Section> sections_;    // of the PAT that is being received, by number
    std::vector<Pat::Entry> entries_;  // of the newest whole one
    std::vector<Program> programs_;    // that are followed
    std::optional<Pat::Entry> taken_;
};

}  // namespace weir::mpegts
