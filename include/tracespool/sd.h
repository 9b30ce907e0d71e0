/* sd.h: readiness, status and watchdog datagrams to the service manager; passed sockets
 *
 * All do nothing and return 0 when the environment names no manager.
 */
#ifndef TRACESPOOL_SD_H
#define TRACESPOOL_SD_H

#include <stdbool.h>
#include <stdint.h>

#include "tracespool/util.h"

/* Sends one datagram of assignments such as "READY=1\nSTATUS=...". -1 with errno on failure. */
int sd_notify_text(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Half of the watchdog time in milliseconds, 0 if none is asked for. */
uint64_t sd_watchdog_ms(void);

/* Number of passed sockets; they are descriptors 3, 4, ... and are set close-on-exec. */
int sd_listen_count(void);

/* Does an absolute path lie in a /tmp or /var/tmp that only this service sees (PrivateTmp=)?
 * mountinfo: "/proc/self/mountinfo". False when that cannot be read. */
bool sd_private_tmp(const char *path, const char *mountinfo);

#endif
