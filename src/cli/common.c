/* What all commands share. */
#include "cli/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cm_cli_fail(cm_status status) {
    if (status == CM_OK) return 0;
    fflush(stdout);
    fprintf(stderr, "cumind: %s\n", cm_error_message());
    return status == CM_ERR_INPUT ? 2 : 1;
}

/* Levenshtein distance, for words shorter than 64. */
static int distance(const char *a, const char *b) {
    int row[64], n = (int)strlen(b);
    if (n >= 64) return 64;
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; *a; a++, i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int change = diagonal + (*a != b[j - 1]), least = row[j] < row[j - 1] ? row[j] : row[j - 1];
            diagonal = row[j];
            row[j] = change < least + 1 ? change : least + 1;
        }
    }
    return row[n];
}

const char *cm_cli_nearest(const char *word, const char *const *words) {
    const char *best = NULL;
    int least = (int)strlen(word) / 3 + 2; /* farther than this is no slip of the pen */
    for (; *words; words++) {
        int d = distance(word, *words);
        if (d < least) least = d, best = *words;
    }
    return best;
}

int cm_cli_print_json(cm_json_writer *writer) {
    size_t size;
    const char *text = cm_json_writer_text(writer, &size);
    int result = text ? 0 : cm_cli_fail(CM_ERR_MEMORY);
    if (text && (fwrite(text, 1, size, stdout) != size || putchar('\n') == EOF || fflush(stdout) == EOF)) {
        result = cm_cli_fail(cm_fail(CM_ERR_IO, "stdout: cannot be written"));
    }
    cm_json_writer_destroy(writer);
    return result;
}

const cm_flag cm_configured_flags[] = {
    {"config", "FILE", "Configuration to read; without it configuration.json of this folder if there is one."},
    {"set", "KEY=VALUE", "Sets one key, for example --set MCTS.num_simulations=50; may be repeated."},
    {"seed", "N", "Seed of the run (Other.seed)."},
    {"backend", "NAME", "auto, ref, cpu or cuda (Device.backend)."},
    {"threads", "N", "Worker threads, 0: as many as the process may use (Device.threads)."},
    {"dtype", "TYPE", "float32 or bfloat16 (Data Types.model_dtype)."},
};
const int cm_configured_flag_count = (int)(sizeof cm_configured_flags / sizeof *cm_configured_flags);

static const struct {
    const char *flag, *key, *origin;
} flag_keys[] = {
    {"seed", "Other.seed", "--seed"},
    {"backend", "Device.backend", "--backend"},
    {"threads", "Device.threads", "--threads"},
    {"dtype", "Data Types.model_dtype", "--dtype"},
};

static cm_status apply_flags(const cm_arguments *arguments, cm_config *config) {
    for (int i = 0; cm_arguments_nth(arguments, "set", i); i++) {
        CM_TRY(cm_config_set(config, cm_arguments_nth(arguments, "set", i)));
    }
    for (int i = 0; i < (int)(sizeof flag_keys / sizeof *flag_keys); i++) {
        const char *value = cm_arguments_get(arguments, flag_keys[i].flag);
        if (value) CM_TRY(cm_config_assign(config, flag_keys[i].key, value, flag_keys[i].origin));
    }
    return CM_OK;
}

cm_status cm_cli_begin_configuration(const cm_arguments *arguments, cm_configuration *configuration,
                                     cm_config **config) {
    *config = NULL;
    CM_TRY(cm_configuration_create(configuration, config));
    const char *path = cm_arguments_get(arguments, "config");
    if (!path && cm_file_exists("configuration.json")) path = "configuration.json";
    cm_status status = path ? cm_config_read(*config, path) : CM_OK;
    if (status == CM_ERR_IO) status = cm_fail(CM_ERR_INPUT, "%s", cm_error_message());
    if (status == CM_OK) status = apply_flags(arguments, *config);
    if (status != CM_OK) {
        cm_config_destroy(*config);
        *config = NULL;
    }
    return status;
}

cm_status cm_cli_configuration(const cm_arguments *arguments, cm_configuration *configuration, cm_config **config) {
    CM_TRY(cm_cli_begin_configuration(arguments, configuration, config));
    cm_status status = cm_configuration_finish(*config, configuration);
    if (status != CM_OK) {
        cm_config_destroy(*config);
        *config = NULL;
    }
    return status;
}
