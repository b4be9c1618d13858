#include "app/processes/attached.h"

#include <cstring>

namespace weir::app {

Attached take_attached(msghdr& message) {
    Attached attached;
    size_t count = 0;
    for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
         each = CMSG_NXTHDR(&message, each)) {
        if (each->cmsg_level != SOL_SOCKET) {
            continue;
        }
        if (each->cmsg_type == SCM_RIGHTS) {
            const size_t bytes = each->cmsg_len - CMSG_LEN(0);
            for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(each) + at, sizeof fd);
                attached.descriptor = io::OwnFd(fd);  // closes the one before
                count++;
            }
        } else if (each->cmsg_type == SCM_CREDENTIALS) {
            ucred sender{};
            std::memcpy(&sender, CMSG_DATA(each), sizeof sender);
            attached.user = sender.uid;
        }
    }
    if (count != 1) {
        attached.descriptor.reset();
    }
    return attached;
}

}  // namespace weir::app
