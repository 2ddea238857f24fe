#include "support/cuda_fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 64, BLOCKS = 256, FUNCTIONS = 64, BRANCHES = 8 };

cm_cuda_fake cm_fake;

typedef struct node {
    void (*work)(void *);
    void *argument;
    /* or, without work, bytes to copy or to fill */
    void *to;
    const void *from; /* NULL: fill with value */
    size_t bytes;
    unsigned char value;
} node;

struct CUgraph_st {
    node nodes[NODES];
    size_t count;
    cm_cu_stream branch[BRANCHES]; /* streams that followed one that captures, while it does */
    int branches;
};
struct CUgraphExec_st {
    struct CUgraph_st graph;
};
struct CUstream_st {
    struct CUgraph_st *capture; /* NULL: it does not capture */
    bool broken;                /* by something that may not be captured */
    int pushed, joined;         /* as a branch: what it was given, and what of that another stream follows */
};
struct CUevent_st {
    bool is_blocking; /* the waiting thread sleeps */
    int recorded;
    struct CUgraph_st *capture; /* of the stream, as it was recorded */
    cm_cu_stream of;
    int pushed; /* on that by then */
    float milliseconds;
};
struct CUctx_st {
    int users;
};

static struct CUctx_st the_context;
static _Thread_local cm_cu_context current;
static struct {
    void *at;
    size_t bytes;
} blocks[BLOCKS];
static struct {
    const char *name;
    int calls;
} calls[FUNCTIONS];
static int capturing; /* streams that do */
static _Thread_local int
    own_captures; /* of this thread: it may wait for nothing then, allocate no memory, nor free any */

/* ---- what every call does ---- */

int cm_fake_calls(const char *name) {
    for (int i = 0; i < FUNCTIONS && calls[i].name; i++)
        if (strcmp(calls[i].name, name) == 0) return calls[i].calls;
    return 0;
}

static void count(const char *name) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int i = 0;
    pthread_mutex_lock(&lock);
    while (calls[i].name && strcmp(calls[i].name, name) != 0) i++;
    calls[i].name = name;
    calls[i].calls++;
    pthread_mutex_unlock(&lock);
}

static int misuse(const char *name) {
    cm_fake.misuse++;
    snprintf(cm_fake.misused, sizeof cm_fake.misused, "%s", name);
    return 201; /* CUDA_ERROR_INVALID_CONTEXT and its like */
}

/* Counts the call, and answers the fault that the test asked for. */
static int enter(const char *name) {
    count(name);
    if (!cm_fake.fail || strcmp(cm_fake.fail, name) != 0) return 0;
    if (cm_fake.fail_at > 0) {
        cm_fake.fail_at--;
        return 0;
    }
    return cm_fake.fail_times-- > 0 ? cm_fake.fail_result : 0;
}

#define ENTER(name)                                                                                                    \
    do {                                                                                                               \
        int fault_ = enter(#name);                                                                                     \
        if (fault_) return fault_;                                                                                     \
    } while (0)
#define ENTER_CONTEXT(name)                                                                                            \
    do {                                                                                                               \
        ENTER(name);                                                                                                   \
        if (!current) return misuse(#name);                                                                            \
    } while (0)

/* ---- device ---- */

static int init(unsigned flags) {
    ENTER(init);
    return flags ? 1 : 0;
}
static int driver_version(int *version) {
    ENTER(driver_version);
    *version = cm_fake.version;
    return 0;
}
static int error_name(int result, const char **name) {
    if (result == 719) *name = "CUDA_ERROR_LAUNCH_FAILED";
    if (result == 1) *name = "CUDA_ERROR_INVALID_VALUE";
    return result == 719 || result == 1 ? 0 : 1;
}
static int error_text(int result, const char **text) {
    *text = result == 719 ? "unspecified launch failure" : "invalid argument";
    return 0;
}
static int device_count(int *devices) {
    ENTER(device_count);
    *devices = cm_fake.devices;
    return 0;
}
static int device_get(cm_cu_device *device, int ordinal) {
    ENTER(device_get);
    *device = ordinal;
    return 0;
}
static int device_name(char *name, int size, cm_cu_device device) {
    ENTER(device_name);
    snprintf(name, (size_t)size, "Fake %d", device);
    return 0;
}
static int device_id(cm_cu_id *id, cm_cu_device device) {
    ENTER(device_id);
    memset(*id, 1 + device, sizeof *id);
    return 0;
}
static int device_attribute(int *value, int attribute, cm_cu_device device) {
    (void)device;
    ENTER(device_attribute);
    switch (attribute) {
    case CM_CU_MAJOR: *value = cm_fake.major; break;
    case CM_CU_MINOR: *value = cm_fake.minor; break;
    case CM_CU_CLOCK: *value = 1980000; break;
    case CM_CU_MEMORY_CLOCK: *value = 2619000; break;
    case CM_CU_MEMORY_BITS: *value = 5120; break;
    default: *value = 132;
    }
    return 0;
}
static int device_memory(size_t *bytes, cm_cu_device device) {
    (void)device;
    ENTER(device_memory);
    *bytes = cm_fake.total;
    return 0;
}
static int context_retain(cm_cu_context *context, cm_cu_device device) {
    (void)device;
    ENTER(context_retain);
    *context = &the_context;
    cm_fake.contexts++;
    return 0;
}
static int context_release(cm_cu_device device) {
    (void)device;
    ENTER(context_release);
    cm_fake.contexts--;
    return 0;
}
static int context_use(cm_cu_context context) {
    ENTER(context_use);
    current = context;
    return 0;
}
static int context_wait(void) {
    ENTER_CONTEXT(context_wait);
    return capturing ? misuse("context_wait") : 0;
}

/* ---- memory ---- */

static int memory_info(size_t *available, size_t *total) {
    ENTER_CONTEXT(memory_info);
    *available = cm_fake.total - cm_fake.taken - (cm_fake.contexts ? cm_fake.context : 0);
    *total = cm_fake.total;
    return 0;
}
static int memory_alloc(cm_cu_address *block, size_t bytes) {
    ENTER_CONTEXT(memory_alloc);
    if (own_captures) return misuse("memory_alloc");
    if (cm_fake.taken + bytes + cm_fake.context > cm_fake.total) return CM_CU_OUT_OF_MEMORY;
    int i = 0;
    while (i < BLOCKS && blocks[i].at) i++;
    if (i == BLOCKS) return misuse("memory_alloc");
    blocks[i].at = aligned_alloc(256, (bytes + 255) / 256 * 256);
    blocks[i].bytes = bytes;
    memset(blocks[i].at, 0xee, bytes);
    cm_fake.taken += bytes;
    cm_fake.blocks++;
    *block = (cm_cu_address)(uintptr_t)blocks[i].at;
    return 0;
}
static int memory_free(cm_cu_address block) {
    ENTER_CONTEXT(memory_free);
    if (own_captures) return misuse("memory_free");
    for (int i = 0; i < BLOCKS; i++) {
        if (!blocks[i].at || (cm_cu_address)(uintptr_t)blocks[i].at != block) continue;
        cm_fake.taken -= blocks[i].bytes;
        cm_fake.blocks--;
        free(blocks[i].at);
        blocks[i].at = NULL;
        return 0;
    }
    return misuse("memory_free");
}
static int pinned_alloc(void **block, size_t bytes, unsigned flags) {
    (void)flags;
    ENTER_CONTEXT(pinned_alloc);
    if (own_captures) return misuse("pinned_alloc");
    *block = malloc(bytes);
    cm_fake.pinned++;
    return 0;
}
static int pinned_free(void *block) {
    ENTER_CONTEXT(pinned_free);
    if (own_captures) return misuse("pinned_free");
    free(block);
    cm_fake.pinned--;
    return 0;
}

/* ---- work on streams ---- */

static void run_node(const node *n) {
    if (n->work) {
        n->work(n->argument);
    } else if (n->from) {
        memcpy(n->to, n->from, n->bytes);
    } else {
        memset(n->to, n->value, n->bytes);
    }
}

static int push(cm_cu_stream stream, node n) {
    struct CUgraph_st *graph = stream->capture;
    if (!graph) {
        run_node(&n);
        return 0;
    }
    if (graph->count == NODES) return misuse("capture of too many launches");
    graph->nodes[graph->count++] = n;
    stream->pushed++;
    return 0;
}

int cm_fake_launch(cm_cu_stream stream, void (*work)(void *), void *argument) {
    ENTER_CONTEXT(launch);
    return push(stream, (node){.work = work, .argument = argument});
}

static void *at(cm_cu_address address) { return (void *)(uintptr_t)address; }

static int zero(cm_cu_address to, unsigned char value, size_t bytes, cm_cu_stream stream) {
    ENTER_CONTEXT(zero);
    return push(stream, (node){.to = at(to), .bytes = bytes, .value = value});
}
static int write_to(cm_cu_address to, const void *host, size_t bytes, cm_cu_stream stream) {
    ENTER_CONTEXT(write);
    return push(stream, (node){.to = at(to), .from = host, .bytes = bytes});
}
static int read_from(void *host, cm_cu_address from, size_t bytes, cm_cu_stream stream) {
    ENTER_CONTEXT(read);
    return push(stream, (node){.to = host, .from = at(from), .bytes = bytes});
}
static int copy(cm_cu_address to, cm_cu_address from, size_t bytes, cm_cu_stream stream) {
    ENTER_CONTEXT(copy);
    return push(stream, (node){.to = at(to), .from = at(from), .bytes = bytes});
}
static int stream_priorities(int *least, int *greatest) {
    ENTER_CONTEXT(stream_priorities);
    *least = 0, *greatest = -5;
    return 0;
}
static int stream_create(cm_cu_stream *stream, unsigned flags, int priority) {
    (void)flags;
    ENTER_CONTEXT(stream_create);
    if (priority > 0 || priority < -5) return misuse("stream_create");
    cm_fake.priority = priority;
    *stream = calloc(1, sizeof **stream);
    cm_fake.streams++;
    return 0;
}
static int stream_destroy(cm_cu_stream stream) {
    ENTER_CONTEXT(stream_destroy);
    free(stream);
    cm_fake.streams--;
    return 0;
}
static int stream_wait(cm_cu_stream stream) {
    ENTER_CONTEXT(stream_wait);
    if (!stream->capture) return own_captures ? misuse("stream_wait") : 0;
    stream->broken = true;
    return 900; /* CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED */
}
/* What follows a stream that captures is a branch of its graph. */
static void join_capture(cm_cu_stream stream, struct CUgraph_st *graph) {
    stream->capture = graph;
    stream->pushed = 1, stream->joined = 0; /* its begin is to be joined, too */
    graph->branch[graph->branches++] = stream;
}
static int stream_wait_event(cm_cu_stream stream, cm_cu_event event, unsigned flags) {
    (void)flags;
    ENTER_CONTEXT(stream_wait_event);
    if (!event->recorded) return misuse("stream_wait_event");
    if (event->capture && !stream->capture && event->capture->branches < BRANCHES) join_capture(stream, event->capture);
    if (event->capture != stream->capture) {
        stream->broken = true;
        return 905; /* CUDA_ERROR_STREAM_CAPTURE_ISOLATION */
    }
    if (event->of != stream && event->pushed > event->of->joined) event->of->joined = event->pushed;
    return 0;
}

/* ---- events ---- */

static int event_create(cm_cu_event *event, unsigned flags) {
    ENTER_CONTEXT(event_create);
    *event = calloc(1, sizeof **event);
    (*event)->is_blocking = flags & CM_CU_EVENT_BLOCKING;
    cm_fake.events++;
    return 0;
}
static int event_destroy(cm_cu_event event) {
    ENTER_CONTEXT(event_destroy);
    free(event);
    cm_fake.events--;
    return 0;
}
static int event_record(cm_cu_event event, cm_cu_stream stream) {
    ENTER_CONTEXT(event_record);
    event->recorded++;
    event->capture = stream->capture, event->of = stream, event->pushed = stream->pushed;
    event->milliseconds = cm_fake.milliseconds;
    return 0;
}
static int event_wait(cm_cu_event event) {
    ENTER_CONTEXT(event_wait);
    if (own_captures) return misuse("event_wait");
    cm_fake.slept += event->is_blocking;
    return 0;
}
static int event_elapsed(float *milliseconds, cm_cu_event start, cm_cu_event end) {
    ENTER_CONTEXT(event_elapsed);
    if (!start->recorded || !end->recorded) return misuse("event_elapsed");
    *milliseconds = end->milliseconds - start->milliseconds;
    return 0;
}

/* ---- graphs ---- */

static int capture_begin(cm_cu_stream stream, int mode) {
    (void)mode;
    ENTER_CONTEXT(capture_begin);
    if (stream->capture) return misuse("capture_begin");
    stream->capture = calloc(1, sizeof *stream->capture);
    stream->broken = false;
    cm_fake.graphs++;
    capturing++, own_captures++;
    return 0;
}
/* Branches capture as long as their graph does; false: nothing follows the end of one. */
static bool end_branches(struct CUgraph_st *graph) {
    bool are_joined = true;
    for (int i = 0; i < graph->branches; i++) {
        cm_cu_stream branch = graph->branch[i];
        are_joined = are_joined && branch->joined == branch->pushed;
        branch->capture = NULL;
    }
    return are_joined;
}
/* Ends the capture also where it fails. */
static int capture_end(cm_cu_stream stream, cm_cu_graph *graph) {
    int fault = enter("capture_end");
    if (!current || !stream->capture) return misuse("capture_end");
    *graph = stream->capture;
    stream->capture = NULL;
    capturing--, own_captures--;
    const bool are_joined = end_branches(*graph);
    if (!stream->broken && are_joined && !fault) return 0;
    free(*graph);
    *graph = NULL;
    cm_fake.graphs--;
    if (fault) return fault;
    return stream->broken ? 901 : 904; /* CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, _UNJOINED */
}
static int graph_nodes(cm_cu_graph graph, cm_cu_graph_node *nodes, size_t *size) {
    (void)nodes;
    ENTER_CONTEXT(graph_nodes);
    *size = graph->count;
    return 0;
}
static int graph_destroy(cm_cu_graph graph) {
    ENTER_CONTEXT(graph_destroy);
    free(graph);
    cm_fake.graphs--;
    return 0;
}
static int exec_create(cm_cu_graph_exec *exec, cm_cu_graph graph, unsigned long long flags) {
    (void)flags;
    ENTER_CONTEXT(exec_create);
    *exec = calloc(1, sizeof **exec);
    (*exec)->graph = *graph;
    cm_fake.executables++;
    return 0;
}
/* As the driver: addresses may change, the number and kinds of launches may not. */
static int exec_update(cm_cu_graph_exec exec, cm_cu_graph graph, cm_cu_update *outcome) {
    ENTER_CONTEXT(exec_update);
    outcome->result = exec->graph.count != graph->count;
    if (outcome->result) return 910; /* CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE */
    exec->graph = *graph;
    return 0;
}
static int exec_launch(cm_cu_graph_exec exec, cm_cu_stream stream) {
    ENTER_CONTEXT(exec_launch);
    if (stream->capture) return misuse("exec_launch");
    for (size_t i = 0; i < exec->graph.count; i++) run_node(&exec->graph.nodes[i]);
    return 0;
}
static int exec_destroy(cm_cu_graph_exec exec) {
    ENTER_CONTEXT(exec_destroy);
    free(exec);
    cm_fake.executables--;
    return 0;
}

static const cm_cuda_driver table = {
    .init = init,
    .driver_version = driver_version,
    .error_name = error_name,
    .error_text = error_text,
    .device_count = device_count,
    .device_get = device_get,
    .device_name = device_name,
    .device_id = device_id,
    .device_attribute = device_attribute,
    .device_memory = device_memory,
    .context_retain = context_retain,
    .context_release = context_release,
    .context_use = context_use,
    .context_wait = context_wait,
    .memory_info = memory_info,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .pinned_alloc = pinned_alloc,
    .pinned_free = pinned_free,
    .zero = zero,
    .write = write_to,
    .read = read_from,
    .copy = copy,
    .stream_priorities = stream_priorities,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_wait = stream_wait,
    .stream_wait_event = stream_wait_event,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_elapsed = event_elapsed,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .graph_nodes = graph_nodes,
    .graph_destroy = graph_destroy,
    .exec_create = exec_create,
    .exec_update = exec_update,
    .exec_launch = exec_launch,
    .exec_destroy = exec_destroy,
};

const cm_cuda_driver *cm_fake_driver(void) {
    memset(&cm_fake, 0, sizeof cm_fake);
    memset(calls, 0, sizeof calls);
    cm_fake.version = 13000, cm_fake.devices = 1, cm_fake.major = 9;
    cm_fake.total = 1000000000, cm_fake.context = 300000000;
    current = NULL;
    capturing = own_captures = 0;
    return &table;
}
