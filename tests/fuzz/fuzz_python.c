/* What a Python process sends: a description and answers, whatever they are. The first byte says for how many bytes of
 * an answer there is space. */
#include "fuzz/fuzz.h"

#include <string.h>
#include <sys/socket.h>

#include "core/log.h"
#include "env/python_spec.h"
#include "env/worker.h"

enum { MOST_BYTES = 1 << 15, MOST_ANSWERS = 64 };

static void read_description(const char *text, size_t bytes) {
    cm_json_doc *doc = NULL;
    cm_python_spec said;
    memset(&said, 0, sizeof said);
    if (cm_json_parse(text, bytes, "fuzz", &doc) == CM_OK && cm_python_spec_read(cm_json_root(doc), &said) == CM_OK) {
        const cm_env_spec *s = &said.spec;
        FUZZ_EXPECT(s->observation_size >= 1 && s->observation_size == s->shape[0] * s->shape[1] * s->shape[2]);
        FUZZ_EXPECT(s->actions + s->action_size >= 1 && s->actions <= CM_ENV_MAX_ACTIONS);
        for (int a = 0; said.action_names && a < s->actions; a++)
            FUZZ_EXPECT(memchr(said.action_names[a], '\0', CM_PYTHON_NAME) != NULL);
    }
    free(said.action_names);
    cm_json_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cm_worker *worker;
    char *description = NULL;
    size_t bytes = 0;
    int sides[2];
    cm_log_set_level(CM_SILENT);
    if (size < 1 || size > MOST_BYTES) return 0;
    const size_t space = data[0];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sides) != 0) abort();
    if (write(sides[1], data + 1, size - 1) != (ssize_t)size - 1) abort();
    close(sides[1]);
    if (cm_worker_attach("fuzz", sides[0], &worker, &description, &bytes) == CM_OK) {
        char *reply = malloc(space + 1);
        bool is_missing;
        if (!reply) abort();
        read_description(description, bytes);
        for (int i = 0; i < MOST_ANSWERS; i++) {
            size_t got = space;
            const cm_status status = cm_worker_receive(worker, reply, &got, &is_missing);
            FUZZ_EXPECT(status != CM_OK || got <= space);
            if (status == CM_ERR_IO) break;
        }
        free(reply);
        cm_worker_stop(worker);
    }
    free(description);
    return 0;
}
