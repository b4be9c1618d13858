// hiredis makes no objects of its own here: its reader calls us for each element, and we put it
// where it belongs. An array's elements get their places at once, so no place moves while it is
// being filled; their number is bounded before that.
#include "proto/redis/reply_reader.h"

#include <cstring>
#include <utility>

#include <hiredis/hiredis.h>
#include <hiredis/read.h>

#include "base/check.h"

namespace weir::redis {

struct ReplyReader::Building {
    Reply root;
    size_t elements = 0;
    bool too_many = false;
};

namespace {

template <typename Building>
Reply* place_of(const redisReadTask* task) {
    auto* const building = static_cast<Building*>(task->privdata);
    if (task->parent == nullptr) {
        building->root = Reply();
        building->elements = 0;
        return &building->root;
    }
    auto* const parent = static_cast<Reply*>(task->parent->obj);
    return &parent->elements[static_cast<size_t>(task->idx)];
}

ReplyType type_of(int type) {
    switch (type) {
        case REDIS_REPLY_ERROR: return ReplyType::kError;
        case REDIS_REPLY_STATUS: return ReplyType::kStatus;
        default: return ReplyType::kText;
    }
}

// The callbacks of hiredis. Null of one of them ends the reader with an error.
template <typename Building>
redisReplyObjectFunctions* callbacks() {
    static redisReplyObjectFunctions functions = {
        .createString = [](const redisReadTask* task, char* text, size_t size) -> void* {
            Reply* const reply = place_of<Building>(task);
            reply->type = type_of(task->type);
            reply->text.assign(text, size);
            return reply;
        },
        .createArray = [](const redisReadTask* task, int count) -> void* {
            Reply* const reply = place_of<Building>(task);
            auto* const building = static_cast<Building*>(task->privdata);
            building->elements += static_cast<size_t>(count);
            if (building->elements > kMaxReplyElements) {
                building->too_many = true;
                return nullptr;
            }
            reply->type = ReplyType::kArray;
            reply->elements.resize(static_cast<size_t>(count));
            return reply;
        },
        .createInteger = [](const redisReadTask* task, long long value) -> void* {
            Reply* const reply = place_of<Building>(task);
            reply->type = ReplyType::kInteger;
            reply->integer = value;
            return reply;
        },
        .createNil = [](const redisReadTask* task) -> void* {
            Reply* const reply = place_of<Building>(task);
            reply->type = ReplyType::kNil;
            return reply;
        },
        .freeObject = [](void*) {},  // the root is a member
    };
    return &functions;
}

}  // namespace

void ReplyReader::Free::operator()(redisReader* reader) const {
    redisReaderFree(reader);
}

ReplyReader::ReplyReader()
    : building_(std::make_unique<Building>()),
      reader_(redisReaderCreateWithFunctions(callbacks<Building>())) {
    WEIR_CHECK(reader_ != nullptr);
    reader_->privdata = building_.get();
}

ReplyReader::~ReplyReader() = default;

ReplyReader::Status ReplyReader::break_off(std::string_view why) {
    broken_ = true;
    error_ = why;
    return Status::kBroken;
}

void ReplyReader::feed(ByteSpan data) {
    if (broken_ || data.empty()) {
        return;
    }
    unfinished_ += data.size();
    if (redisReaderFeed(reader_.get(), reinterpret_cast<const char*>(data.data()), data.size()) !=
        REDIS_OK) {
        break_off("the reply cannot be read");
    }
}

ReplyReader::Status ReplyReader::next() {
    if (broken_) {
        return Status::kBroken;
    }
    void* made = nullptr;
    if (redisReaderGetReply(reader_.get(), &made) != REDIS_OK) {
        return break_off(building_->too_many ? "a reply of too many elements"
                                             : "what came is no reply of Redis");
    }
    // What lies in the reader behind a whole reply counts for the next one.
    const size_t unread = reader_->len - reader_->pos;
    if (made == nullptr) {
        return unfinished_ > kMaxReplyBytes ? break_off("a reply of too many bytes")
                                            : Status::kNeedMore;
    }
    unfinished_ = unread;
    return Status::kReply;
}

Reply ReplyReader::take() {
    return std::exchange(building_->root, Reply());
}

}  // namespace weir::redis
