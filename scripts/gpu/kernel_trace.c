/* Writes when every kernel, copy and fill ran on the GPU, of any program that uses CUDA:
 *
 *     gcc -shared -fPIC -O1 -I$CUDA_HOME/include scripts/gpu/kernel_trace.c -ldl -o kernel_trace.so
 *     CUDA_INJECTION64_PATH=./kernel_trace.so KERNEL_TRACE=trace.txt cumind benchmark train --backend cuda
 *     scripts/kernel_times trace.txt
 *
 * The driver loads the library when the program starts to use it. CUPTI, which records, is opened at run time
 * (CUPTI_LIBRARY, default libcupti.so.13 or libcupti.so). Lines of the trace: `n INDEX NAME` before the first line of a
 * name, and `START END STREAM INDEX`, times in nanoseconds. Launches of a graph are recorded one by one. */
#include <cupti.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 8 << 20, NAMES = 4096 };

static FILE *out;
static const char *names[NAMES]; /* CUPTI keeps them; equal names may have several addresses */
static int known;

static CUptiResult (*enable)(CUpti_ActivityKind);
static CUptiResult (*callbacks)(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc);
static CUptiResult (*flush)(uint32_t);
static CUptiResult (*next)(uint8_t *, size_t, CUpti_Activity **);

static int index_of(const char *name) {
    for (int i = known - 1; i >= 0; i--)
        if (names[i] == name || !strcmp(names[i], name)) return i;
    if (known == NAMES) return NAMES - 1;
    names[known] = strdup(name);
    fprintf(out, "n %d %s\n", known, name);
    return known++;
}

static void put(uint64_t start, uint64_t end, uint32_t stream, const char *name) {
    const int index = index_of(name);
    fprintf(out, "%llu %llu %u %d\n", (unsigned long long)start, (unsigned long long)end, stream, index);
}

static void put_record(const CUpti_Activity *record) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        const CUpti_ActivityKernel10 *k = (const void *)record;
        put(k->start, k->end, k->streamId, k->name);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        static const char *const ways[] = {"?", "host to device", "device to host"};
        const CUpti_ActivityMemcpy6 *c = (const void *)record;
        put(c->start, c->end, c->streamId, c->copyKind <= 2 ? ways[c->copyKind] : "copy on the device");
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
        const CUpti_ActivityMemset4 *m = (const void *)record;
        put(m->start, m->end, m->streamId, "fill");
    }
}

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *most) {
    *buffer = aligned_alloc(8, BUFFER);
    *size = *buffer ? BUFFER : 0;
    *most = 0;
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
    CUpti_Activity *record = NULL;
    (void)context, (void)stream, (void)size;
    while (next(buffer, valid, &record) == CUPTI_SUCCESS) put_record(record);
    free(buffer);
}

static void finish(void) {
    flush(1);
    fclose(out);
}

static int find(void *library) {
    *(void **)&enable = dlsym(library, "cuptiActivityEnable");
    *(void **)&callbacks = dlsym(library, "cuptiActivityRegisterCallbacks");
    *(void **)&flush = dlsym(library, "cuptiActivityFlushAll");
    *(void **)&next = dlsym(library, "cuptiActivityGetNextRecord");
    return enable && callbacks && flush && next;
}

/* What the driver calls once. */
int InitializeInjection(void);
int InitializeInjection(void) {
    const char *path = getenv("KERNEL_TRACE"), *given = getenv("CUPTI_LIBRARY");
    void *library = dlopen(given ? given : "libcupti.so.13", RTLD_NOW);
    if (!library) library = dlopen("libcupti.so", RTLD_NOW);
    out = library && find(library) ? fopen(path ? path : "kernel_trace.txt", "w") : NULL;
    if (!out) {
        fprintf(stderr, "kernel_trace: %s\n", library ? "the file cannot be written" : dlerror());
        return 0;
    }
    callbacks(request, complete);
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    enable(CUPTI_ACTIVITY_KIND_MEMCPY);
    enable(CUPTI_ACTIVITY_KIND_MEMSET);
    atexit(finish);
    return 1;
}
