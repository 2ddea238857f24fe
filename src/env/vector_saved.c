/* What checkpoints hold of a batch of environments. */
#include <stdlib.h>
#include <string.h>

#include "env/vector_internal.h"

/* Options that rows have got since are compared as keys of the run, so older checkpoints still fit. */
enum { SAVED_OPTIONS = 14 };

typedef struct saved_header {
    char magic[8];
    char name[32];
    uint64_t seed, first_instance, instances, data_bytes;
    double options[SAVED_OPTIONS];
} saved_header;

static saved_header header_of(const cm_vector_env *vector) {
    saved_header header;
    memset(&header, 0, sizeof header);
    memcpy(header.magic, "cm-env-1", sizeof header.magic);
    memcpy(header.name, vector->env.spec.name, sizeof header.name);
    header.seed = vector->seed, header.first_instance = vector->first_instance;
    header.instances = (uint64_t)vector->instances, header.data_bytes = vector->data_bytes;
    for (int i = 0; i < SAVED_OPTIONS; i++) header.options[i] = cm_env_params_get(&vector->env.params, i);
    return header;
}

size_t cm_vector_env_bytes(const cm_vector_env *vector) { return sizeof(saved_header) + vector->data_bytes; }

size_t cm_vector_env_bytes_of(const cm_env *env, int instances) {
    cm_vector_env vector = {.env = *env, .instances = instances};
    cm_arena measure = {NULL, SIZE_MAX, 0};
    cm_vector_env_lay_out(&vector, &measure);
    return cm_vector_env_bytes(&vector);
}

/* The arrays after the states. */
static size_t rest_bytes(const cm_vector_env *vector) {
    return vector->data_bytes - (size_t)((const unsigned char *)vector->random - vector->arena.base);
}

/* The arrays as they are; where states are in use in part, the others first and then of each state what is. */
size_t cm_vector_env_save(const cm_vector_env *vector, void *bytes) {
    const saved_header header = header_of(vector);
    char *to = (char *)bytes + sizeof header;
    memcpy(bytes, &header, sizeof header);
    if (!vector->env.def->used) {
        memcpy(to, vector->arena.base, vector->data_bytes);
        return sizeof header + vector->data_bytes;
    }
    memcpy(to, vector->random, rest_bytes(vector));
    to += rest_bytes(vector);
    for (int i = 0; i < vector->instances; i++) {
        memcpy(to, vector->rules + (size_t)i * vector->env.spec.rules_size, cm_vector_env_used(vector, i));
        to += cm_vector_env_used(vector, i);
    }
    return (size_t)(to - (char *)bytes);
}

/* No function of the row has seen them yet. */
static cm_status check_states(const cm_vector_env *vector) {
    cm_status status = CM_OK;
    char *state;
    CM_TRY(cm_alloc(&state, vector->env.spec.state_size, 1, "a state"));
    for (int i = 0; i < vector->instances && status == CM_OK; i++) {
        cm_vector_env_get(vector, i, state);
        status = cm_env_check_state(&vector->env, state);
        if (status == CM_OK) status = cm_env_check_int("its mark of a pending outcome", vector->pending[i], 0, 0);
        if (status != CM_OK) status = cm_fail_in(status, "%s: environment %d", vector->env.spec.name, i);
    }
    free(state);
    return status;
}

static cm_status fail_size(const cm_vector_env *vector, size_t size, size_t expected) {
    return cm_fail(
        CM_ERR_INPUT,
        "%s: the saved environments have %zu bytes, %zu were expected: they are of another version of it, or of cumind",
        vector->env.spec.name, size, expected);
}

/* What save has written after the header of a vector whose states are in use in part. */
static cm_status load_used(cm_vector_env *vector, const char *bytes, size_t size) {
    const size_t rest = rest_bytes(vector);
    if (size < rest) return fail_size(vector, size, rest);
    memcpy(vector->random, bytes, rest);
    size_t at = rest;
    for (int i = 0; i < vector->instances; i++) {
        CM_TRY(cm_env_check_int("the steps of an environment", vector->steps[i], 0, vector->env.spec.max_steps));
        const size_t used = cm_vector_env_used(vector, i);
        if (used > size - at) return fail_size(vector, size, at + used);
        memcpy(vector->rules + (size_t)i * vector->env.spec.rules_size, bytes + at, used);
        at += used;
    }
    return at == size ? CM_OK : fail_size(vector, size, at);
}

cm_status cm_vector_env_load(cm_vector_env *vector, const void *bytes, size_t size) {
    const saved_header mine = header_of(vector);
    const bool in_part = vector->env.def->used != NULL;
    if (in_part ? size < sizeof mine : size != cm_vector_env_bytes(vector))
        return fail_size(vector, size, cm_vector_env_bytes(vector));
    if (memcmp(bytes, &mine, sizeof mine) != 0) {
        return cm_fail(CM_ERR_INPUT, "%s: the saved environments are of another name, seed, number or option",
                       mine.name);
    }
    const char *arrays = (const char *)bytes + sizeof mine;
    if (in_part) {
        CM_TRY(load_used(vector, arrays, size - sizeof mine));
    } else {
        memcpy(vector->arena.base, arrays, vector->data_bytes);
    }
    CM_TRY(check_states(vector));
    cm_vector_env_refresh_masks(vector);
    return CM_OK;
}
