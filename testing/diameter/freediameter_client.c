/* A client of freeDiameter, as one of its extensions. It charges a session, waits until freeDiameter has exchanged
 * Device-Watchdog with the server, and ends. It prints one line per answer: the name of the request, Result-Code, and what
 * each service got. freeDiameter's stack checks CEA, DWA, DPA and every answer against its dictionaries; what it finds
 * wrong is a line too.
 *
 * build: gcc -shared -fPIC -o freediameter_client.fdx freediameter_client.c
 */

#include <freeDiameter/extension.h>

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VENDOR_3GPP 10415
#define DEVICE_WATCHDOG 280
#define DISCONNECT_PEER 282
/* How long an answer may take: longer than any pause of the machine. */
#define PATIENCE_S 120

/* The peers that requests are routed to: exported by the library, and not in its header. */
extern struct fd_list fd_g_activ_peers;
extern pthread_rwlock_t fd_g_activ_peers_rw;

enum { INITIAL = 1, UPDATE = 2, TERMINATION = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int watchdogs, answers;

static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    fflush(stdout);
}

static void fail(const char *what)
{
    say("failed: %s\n", what);
    _exit(1);
}

#define MUST(call)                      \
    do {                                \
        if ((call) != 0) fail(#call);   \
    } while (0)

/* Waits until a count has reached a number. */
static void await(const char *what, const int *count, int number)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&lock);
    while (*count < number)
        if (pthread_cond_timedwait(&changed, &lock, &until) == ETIMEDOUT) fail(what);
    pthread_mutex_unlock(&lock);
}

static void count(int *which)
{
    pthread_mutex_lock(&lock);
    ++*which;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* ---- AVPs by name ---- */

static struct dict_object *model(const char *name, uint32_t vendor)
{
    struct dict_avp_request request = { .avp_vendor = vendor, .avp_name = (char *)name };
    struct dict_object *found = NULL;
    MUST(fd_dict_search(fd_g_config->cnf_dict, DICT_AVP, AVP_BY_NAME_AND_VENDOR, &request, &found, ENOENT));
    return found;
}

static struct avp *add(msg_or_avp *parent, const char *name, uint32_t vendor, union avp_value *value)
{
    struct avp *avp = NULL;
    MUST(fd_msg_avp_new(model(name, vendor), 0, &avp));
    if (value) MUST(fd_msg_avp_setvalue(avp, value));
    MUST(fd_msg_avp_add(parent, MSG_BRW_LAST_CHILD, avp));
    return avp;
}

static void add_text(msg_or_avp *parent, const char *name, const char *text)
{
    union avp_value value = { .os = { .data = (uint8_t *)text, .len = strlen(text) } };
    add(parent, name, 0, &value);
}

static void add_number(msg_or_avp *parent, const char *name, uint32_t number)
{
    union avp_value value = { .u32 = number };
    add(parent, name, 0, &value);
}

static void add_octets(msg_or_avp *parent, const char *name, uint64_t octets)
{
    union avp_value value = { .u64 = octets };
    add(add(parent, name, 0, NULL), "CC-Total-Octets", 0, &value);
}

/* Finds an AVP among the members of a message or a group, from `avp` on. */
static struct avp *find(struct avp *avp, uint32_t code, uint32_t vendor)
{
    for (; avp; ) {
        struct avp_hdr *header;
        MUST(fd_msg_avp_hdr(avp, &header));
        if (header->avp_code == code && header->avp_vendor == vendor) return avp;
        MUST(fd_msg_browse(avp, MSG_BRW_NEXT, &avp, NULL));
    }
    return NULL;
}

static struct avp *first(msg_or_avp *parent)
{
    struct avp *avp = NULL;
    if (parent) MUST(fd_msg_browse(parent, MSG_BRW_FIRST_CHILD, &avp, NULL));
    return avp;
}

static union avp_value *value(msg_or_avp *parent, uint32_t code, uint32_t vendor)
{
    struct avp *avp = find(first(parent), code, vendor);
    struct avp_hdr *header;
    if (!avp) return NULL;
    MUST(fd_msg_avp_hdr(avp, &header));
    return header->avp_value;
}

/* ---- requests and answers ---- */

static void on_answer(void *name, struct msg **answer)
{
    struct msg_hdr *header;
    struct avp *service;
    union avp_value *result = value(*answer, 268, 0), *failover = value(*answer, 418, 0);
    MUST(fd_msg_hdr(*answer, &header));
    say("%s: %u%s", (char *)name, result ? result->u32 : 0, header->msg_flags & CMD_FLAG_ERROR ? " E" : "");
    if (failover) say(" failover %d", failover->i32);
    for (service = find(first(*answer), 456, 0); service; ) {
        union avp_value *group = value(service, 432, 0), *code = value(service, 268, 0);
        union avp_value *granted = value(find(first(service), 431, 0), 421, 0);
        union avp_value *validity = value(service, 448, 0);
        union avp_value *threshold = value(service, 869, VENDOR_3GPP);
        union avp_value *final = value(find(first(service), 430, 0), 449, 0);
        say(" [%u %u", group ? group->u32 : 0, code ? code->u32 : 0);
        if (granted) say(" %llu octets", (unsigned long long)granted->u64);
        if (validity) say(" for %u s", validity->u32);
        if (threshold) say(" threshold %u", threshold->u32);
        if (final) say(" final %d", final->i32);
        say("]");
        MUST(fd_msg_browse(service, MSG_BRW_NEXT, &service, NULL));
        service = find(service, 456, 0);
    }
    say("\n");
    fd_msg_free(*answer);
    *answer = NULL;
    count(&answers);
}

/* Sends a request of the session for rating group 100, and waits for its answer. Negative octets are left out. */
static void ask(const char *name, const char *session, int type, uint32_t number, long long used, long long wanted)
{
    static int asked;
    struct dict_object *command = NULL;
    struct msg *request = NULL;
    struct msg_hdr *header;
    struct avp *group;
    MUST(fd_dict_search(fd_g_config->cnf_dict, DICT_COMMAND, CMD_BY_NAME, "Credit-Control-Request", &command, ENOENT));
    MUST(fd_msg_new(command, MSGFL_ALLOC_ETEID, &request));
    MUST(fd_msg_hdr(request, &header));
    header->msg_appl = 4;
    add_text(request, "Session-Id", session);
    MUST(fd_msg_add_origin(request, 1));
    add_text(request, "Destination-Realm", "localdomain");
    add_number(request, "Auth-Application-Id", 4);
    add_text(request, "Service-Context-Id", "32251@3gpp.org");
    add_number(request, "CC-Request-Type", type);
    add_number(request, "CC-Request-Number", number);
    group = add(request, "Subscription-Id", 0, NULL);
    add_number(group, "Subscription-Id-Type", 1);
    add_text(group, "Subscription-Id-Data", "001010000000001");
    if (type == TERMINATION) add_number(request, "Termination-Cause", 1);
    add_number(request, "Multiple-Services-Indicator", 1);
    group = add(request, "Multiple-Services-Credit-Control", 0, NULL);
    if (wanted >= 0) add_octets(group, "Requested-Service-Unit", wanted);
    if (used >= 0) add_octets(group, "Used-Service-Unit", used);
    add_number(group, "Rating-Group", 100);
    MUST(fd_msg_send(&request, on_answer, (void *)name));
    await(name, &answers, ++asked);
}

/* ---- what happens in the stack ---- */

static void on_hook(enum fd_hook_type type, struct msg *msg, struct peer_hdr *peer, void *other,
                    struct fd_hook_permsgdata *data, void *own)
{
    struct msg_hdr *header;
    (void)peer, (void)data, (void)own;
    if (type == HOOK_MESSAGE_RECEIVED && msg && fd_msg_hdr(msg, &header) == 0) {
        int is_answer = !(header->msg_flags & CMD_FLAG_REQUEST);
        if (is_answer && header->msg_code == DEVICE_WATCHDOG) count(&watchdogs);
        if (is_answer && header->msg_code == DISCONNECT_PEER) say("down\n");
    } else if (type != HOOK_MESSAGE_RECEIVED) {
        /* A message that the dictionaries do not allow, or that was dropped; a connection that failed. */
        say("trouble %d: %s\n", type, other ? (char *)other : "");
    }
}

/* Waits until requests can be routed: a little later than the connection is reported. */
static void await_peer(void)
{
    int tries, is_routed = 0;
    for (tries = 0; tries < PATIENCE_S * 100 && !is_routed; ++tries) {
        usleep(10000);
        MUST(pthread_rwlock_rdlock(&fd_g_activ_peers_rw));
        is_routed = !FD_IS_LIST_EMPTY(&fd_g_activ_peers);
        MUST(pthread_rwlock_unlock(&fd_g_activ_peers_rw));
    }
    if (!is_routed) fail("no connection");
    say("up\n");
}

static void *run(void *unused)
{
    const char *session = "fd.example;1;2;3";
    (void)unused;
    MUST(fd_core_waitstartcomplete());
    await_peer();
    ask("CCR-I", session, INITIAL, 0, -1, 400);
    ask("CCR-U", session, UPDATE, 1, 300, 500);
    ask("CCR-U again", session, UPDATE, 1, 300, 500);
    ask("CCR-U all", session, UPDATE, 2, 500, 5000);
    ask("CCR-U none", session, UPDATE, 3, 200, 10);
    ask("CCR-T", session, TERMINATION, 4, 0, -1);
    ask("CCR-U late", session, UPDATE, 5, -1, 10);
    await("no watchdog", &watchdogs, 1);
    say("watchdog\n");
    /* freeDiameter sends DPR, and waits for DPA. */
    MUST(fd_core_shutdown());
    return NULL;
}

static int client_main(char *unused)
{
    struct dict_object *application = NULL;
    struct fd_hook_hdl *hook = NULL;
    application_id_t id = 4;
    pthread_t thread;
    uint32_t mask = HOOK_MASK(HOOK_MESSAGE_RECEIVED, HOOK_MESSAGE_PARSING_ERROR, HOOK_MESSAGE_ROUTING_ERROR,
                              HOOK_MESSAGE_DROPPED, HOOK_PEER_CONNECT_FAILED);
    (void)unused;
    MUST(fd_dict_search(fd_g_config->cnf_dict, DICT_APPLICATION, APPLICATION_BY_ID, &id, &application, ENOENT));
    MUST(fd_disp_app_support(application, NULL, 1, 0));
    MUST(fd_hook_register(mask, on_hook, NULL, NULL, &hook));
    MUST(pthread_create(&thread, NULL, run, NULL));
    return pthread_detach(thread);
}

EXTENSION_ENTRY("freediameter_client", client_main, "dict_dcca", "dict_dcca_3gpp");
