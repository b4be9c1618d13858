#include "app/protocols/record_protocol.h"

#include <algorithm>

#include "app/processes/process_link.h"
#include "net/api/exposition.h"
#include "net/hooks.h"
#include "net/placement.h"
#include "net/private_streams.h"
#include "session/record/record_folder.h"

namespace weir::app {
namespace {

session::RecordService::MakeDisk make_disk(const ProcessLink* link) {
    return [seat = folder_seat(link)](const std::string& path) {
        return std::make_unique<session::RecordFolder>(path, seat);
    };
}

}  // namespace

RecordProtocol::RecordProtocol(const ProtocolContext& context)
    : config_(context.config),
      services_(context.services),
      service_(context.services.registry, *this, make_disk(context.link), context.make_workers),
      playback_(context.services, service_, *this, context.make_workers),
      vod_(service_, *this, context.services.limits, context.make_workers),
      api_(context.who, context.services, service_, playback_) {
    if (services_.vod != nullptr) {
        services_.vod->set(&vod_);
    }
}

RecordProtocol::~RecordProtocol() {
    if (services_.vod != nullptr) {
        services_.vod->set(nullptr);
    }
}

std::span<const Transport> RecordProtocol::transports() const {
    static constexpr Transport kAll[] = {{session::RecordPlayback::kTransport}};
    return kAll;
}

// Folders are opened, and what a crash has left there is repaired, before anything is written.
void RecordProtocol::use_folders() {
    plays_ = false;
    const auto use = [this](const config::VhostConfig& section) {
        plays_ = plays_ || (section.enabled && section.record.play);
        if (section.enabled && !section.record.path.empty()) {
            service_.use_folder(section.record.path);
        }
    };
    for (const config::VhostConfig& vhost : config_.vhosts) {
        use(vhost);
        for (const config::VhostConfig& application : vhost.applications) {
            use(application);
        }
    }
}

// Of the sections that record there, what the largest wants.
uint64_t RecordProtocol::min_free_of(const std::string& folder) const {
    uint64_t most = 0;
    const auto look = [&](const config::VhostConfig& section) {
        if (section.enabled && section.record.path == folder) {
            most = std::max(most, section.record.min_free);
        }
    };
    for (const config::VhostConfig& vhost : config_.vhosts) {
        look(vhost);
        for (const config::VhostConfig& application : vhost.applications) {
            look(application);
        }
    }
    return most;
}

session::RecordOptions RecordProtocol::record_options(const stream::StreamKey& key) const {
    session::RecordOptions options;
    const config::VhostConfig* const found = config_.find_settings(key.vhost, key.app);
    if (found == nullptr) {
        return options;
    }
    const config::RecordConfig& record = found->record;
    // Of what is for one client alone nothing is kept, unless the API asks for it.
    options.enabled = record.enabled && (services_.private_streams == nullptr ||
                                         !services_.private_streams->has(key));
    options.path = record.path;
    options.format = static_cast<session::RecordFormat>(record.format);
    options.name = record.name;
    options.fragment_ms = record.fragment.count();
    options.split_ms = record.split.count();
    options.split_bytes = record.split_size;
    options.split_midnight = record.split_midnight;
    options.keep_ms = record.keep.count();
    options.keep_bytes = record.keep_bytes;
    options.section = found->section();
    options.play = record.play;
    return options;
}

// Other processes may have the stream as well, for players of theirs.
bool RecordProtocol::records_here(const stream::StreamKey& key) const {
    // Of private streams nobody knows but the process that has them.
    const stream::Stream* const stream = services_.registry.find(key);
    if (stream != nullptr && stream->live() && !stream->relayed()) {
        return true;
    }
    return services_.placement == nullptr ||
           !services_.placement->better_process(key, net::PlaceBy::kSession);
}

void RecordProtocol::on_recorded(const session::RecordedFile& file) {
    services_.hooks.tell_record({.vhost = file.key.vhost,
                                 .app = file.key.app,
                                 .stream = file.key.name,
                                 .folder = file.folder,
                                 .file = file.file,
                                 .format = file.format,
                                 .reason = file.why,
                                 .started_ms = file.started_ms,
                                 .duration = Millis(file.duration_ms),
                                 .bytes = file.bytes,
                                 .frames = file.frames,
                                 .repaired = file.repaired});
}

net::Json RecordProtocol::summary() const {
    const session::RecordStats& stats = service_.stats();
    net::Json folders = net::Json::array();
    service_.for_each_store([&](const session::RecordStore& store) {
        folders.push_back({{"path", store.path()},
                           {"files", store.own_files()},
                           {"free_bytes", store.free_bytes()},
                           {"trouble", store.trouble()}});
    });
    return {{"recording", service_.recording()},
            {"playbacks", vod_.playbacks()},
            {"queued_bytes", service_.queued_bytes()},
            {"files", stats.files},
            {"bytes", stats.bytes},
            {"gaps", stats.gaps},
            {"frames_lost", stats.frames_lost},
            {"bytes_lost", stats.bytes_lost},
            {"errors", stats.errors},
            {"repaired", stats.repaired},
            {"removed", stats.removed},
            {"folders", std::move(folders)}};
}

void RecordProtocol::add_metrics(net::Exposition& text) const {
    const session::RecordStats& stats = service_.stats();
    text.single("weir_record_streams", "gauge", "Streams that are recorded.", service_.recording());
    text.single("weir_record_playbacks", "gauge", "Recordings that are played by RTMP or RTSP.",
                vod_.playbacks());
    text.single("weir_record_queue_bytes", "gauge", "Bytes of recordings that wait for a disk.",
                service_.queued_bytes());
    text.single("weir_record_files_total", "counter", "Recordings that were finished.",
                stats.files);
    text.single("weir_record_bytes_total", "counter", "Bytes of recordings that were written.",
                stats.bytes);
    text.single("weir_record_gaps_total", "counter",
                "Times that a recording lost something, because a disk was slow, full or gone.",
                stats.gaps);
    text.single("weir_record_frames_lost_total", "counter", "Frames in these gaps.",
                stats.frames_lost);
    text.single("weir_record_errors_total", "counter", "Errors of disks of recordings.",
                stats.errors);
    text.single("weir_record_repaired_total", "counter",
                "Files that a crash had left unfinished, and the start has repaired.",
                stats.repaired);
    text.single("weir_record_removed_total", "counter",
                "Recordings that were removed for keep and min_free.", stats.removed);
}

}  // namespace weir::app
