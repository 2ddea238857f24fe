#include "cli/ranks.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "core/log.h"
#include "distributed/launch.h"
#include "run/ranks.h"

enum { MOST_RANKS = 4096, WAIT_SECONDS = 5 };

/* The configuration of the run that is to begin or go on; *config is owned by the caller. */
static cm_status read_configuration(const cm_arguments *arguments, cm_configuration *configuration,
                                    cm_config **config) {
    const char *run = cm_argument(arguments, "--resume");
    cm_arguments mute = *arguments;
    mute.is_mute = true; /* rank 0 will warn */
    return run ? cm_cli_run_configuration(&mute, run, configuration, config)
               : cm_cli_configuration(&mute, configuration, config);
}

/* What every rank would find wrong is said once, before they are started. */
static cm_status check_configuration(const cm_arguments *arguments, int ranks) {
    cm_configuration configuration;
    cm_config *config;
    CM_TRY(read_configuration(arguments, &configuration, &config));
    cm_config_destroy(config);
    return cm_ranks_check(&configuration, ranks, cm_argument_is_set(arguments, "--resume"));
}

static cm_status launch(cm_arguments *arguments, int ranks, cm_cli_ranks *out) {
    const cm_launch job = {
        .ranks = ranks, .oversubscribe = cm_argument_is_set(arguments, "--oversubscribe"), .argv = arguments->argv};
    CM_TRY(cm_launch_check(&job));
    CM_TRY(check_configuration(arguments, ranks));
    CM_TRY(cm_comm_check_mpi());
    out->is_over = true;
    return cm_launch_run(&job, &arguments->verdict);
}

/* What is to be the same on all ranks: the version, the configuration and the command. */
static cm_status write_facts(const cm_arguments *arguments, const cm_config *config, cm_json_writer *json) {
    cm_json_begin_array(json, NULL);
    cm_json_put_string(json, NULL, CM_VERSION);
    CM_TRY(cm_config_write(config, json));
    for (int i = 1; arguments->argv[i]; i++) cm_json_put_string(json, NULL, arguments->argv[i]);
    cm_json_put_string(json, NULL, "nothing more");
    cm_json_end_array(json);
    return CM_OK;
}

static cm_status compare(const cm_arguments *arguments, const cm_config *config, cm_comm *comm) {
    cm_json_writer *json = NULL;
    size_t bytes = 0;
    CM_TRY(cm_json_writer_create(2, &json));
    cm_status status = write_facts(arguments, config, json);
    const char *text = cm_json_writer_text(json, &bytes);
    if (status == CM_OK && !text) status = CM_ERR_MEMORY;
    if (status == CM_OK) status = cm_ranks_compare(comm, text, bytes);
    cm_json_writer_destroy(json);
    return status;
}

static cm_status open_comm(const cm_arguments *arguments, const cm_launch_found *found, double timeout, cm_comm *comm) {
    const cm_comm_options options = {.timeout = timeout};
    CM_TRY(cm_comm_open_mpi(&options, comm));
    comm->oversubscribe = cm_argument_is_set(arguments, "--oversubscribe");
    if (comm->size == found->ranks) return CM_OK;
    return cm_fail(CM_ERR_ABSENT,
                   "%s has started %d ranks, but MPI knows of %d: with srun add --mpi=pmix, or use the mpirun of the "
                   "MPI that cumind was built with",
                   found->launcher, found->ranks, comm->size);
}

static cm_status join(cm_arguments *arguments, const cm_launch_found *found, cm_comm *comm) {
    cm_configuration configuration;
    cm_config *config;
    cm_launch_follow(found);
    CM_TRY(cm_launch_check_found(found));
    CM_TRY(read_configuration(arguments, &configuration, &config));
    cm_status status = open_comm(arguments, found, configuration.run.rank_timeout, comm);
    if (status == CM_OK) status = compare(arguments, config, comm);
    cm_config_destroy(config);
    CM_TRY(status);
    CM_TRY(cm_launch_bind(comm));
    arguments->is_mute = comm->rank > 0;
    return CM_OK;
}

static cm_status check_flags(const cm_launch_found *found, int64_t devices) {
    if (found->ranks > 1 && devices > 0 && devices != found->ranks) {
        return cm_fail(CM_ERR_INPUT, "--num-devices %lld: %s has started %d ranks; leave the flag out",
                       (long long)devices, found->launcher, found->ranks);
    }
    return CM_OK;
}

cm_status cm_cli_ranks_open(cm_arguments *arguments, cm_cli_ranks *out) {
    const cm_launch_found found = cm_launch_find();
    int64_t devices = 0;
    out->is_over = false;
    cm_comm_single(&out->comm);
    CM_TRY(cm_argument_int(arguments, "--num-devices", 1, MOST_RANKS, &devices));
    CM_TRY(check_flags(&found, devices));
    if (found.ranks > 1) return join(arguments, &found, &out->comm);
    return devices > 1 ? launch(arguments, (int)devices, out) : CM_OK;
}

void cm_cli_ranks_close(cm_cli_ranks *ranks, cm_status status) {
    cm_comm *comm = &ranks->comm;
    if (status == CM_OK || comm->size == 1) {
        comm->close(comm);
        return;
    }
    if (comm->rank > 0) {
        signal(SIGTERM, SIG_DFL); /* the launcher ends those that wait */
        sleep(WAIT_SECONDS);
        cm_cli_say("cumind: rank %d: %s", comm->rank, cm_error_message());
    } else {
        cm_cli_say("cumind: %s", cm_error_message());
    }
    comm->abort_all(comm, status == CM_ERR_INPUT ? CM_EXIT_USAGE : CM_EXIT_OTHER);
}
