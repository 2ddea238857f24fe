/* Checks that this machine can train: files, backends, memory, a few steps of everything. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena/evaluate.h"
#include "cli/gpu_libraries.h"
#include "cli/gpu_speed.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/printable.h"
#include "core/temporary.h"
#include "device/cuda/cuda.h"
#include "distributed/nccl.h"
#include "run/run.h"

typedef struct check {
    const char *name;
    cm_status (*run)(char *note, size_t size); /* note: what was found */
} check;

static cm_status check_processors(char *note, size_t size) {
    snprintf(note, size, "%d usable", cm_cpu_count());
    return CM_OK;
}

static cm_status check_memory(char *note, size_t size) {
    const cm_memory_space space = cm_memory_ask();
    cm_memory_describe(&space, note, size);
    if (space.bytes > 64000000) return CM_OK;
    return cm_fail(CM_ERR_MEMORY, "%s, training CartPole needs about 64 MB", note);
}

static cm_status check_disk(char *note, size_t size) {
    uint64_t bytes = 0;
    char text[16];
    CM_TRY(cm_disk_free(".", &bytes));
    cm_format_bytes((double)bytes, text);
    snprintf(note, size, "%s free here", text);
    if (bytes > 32000000) return CM_OK;
    return cm_fail(CM_ERR_IO, "%s, the checkpoints of CartPole need about 20 MB", note);
}

static cm_status check_folder(char *note, size_t size) {
    static const char name[] = ".cumind-doctor";
    CM_TRY(cm_file_write(name, "x", 1));
    unlink(name);
    snprintf(note, size, "can be written");
    return CM_OK;
}

static cm_status check_configuration(char *note, size_t size) {
    const char *path = cm_file_is_named("configuration.json") ? "configuration.json" : NULL;
    cm_configuration configuration;
    cm_config *config = NULL;
    CM_TRY(cm_configuration_load(path, NULL, 0, &configuration, &config));
    snprintf(note, size, "%s, %s", path ? path : "defaults", configuration.env.env_name);
    cm_config_destroy(config);
    return CM_OK;
}

static cm_status check_backend(char *note, size_t size) {
    cm_configuration configuration;
    cm_config *config = NULL;
    cm_session *session = NULL;
    CM_TRY(cm_configuration_load(NULL, NULL, 0, &configuration, &config));
    cm_status status = cm_session_open(&configuration, NULL, &session);
    if (status == CM_OK) cm_session_describe(session, note, size);
    cm_session_close(session);
    cm_config_destroy(config);
    return status;
}

#define MEASURE_SECONDS 1.0 /* of a product; besides that it is prepared, and copied for */

/* A machine without a GPU is a good one; the note says what is missing. */
static cm_status check_gpu(char *note, size_t size) {
    cm_cuda_driver driver;
    cm_cuda_properties properties = {0};
    cm_cuda_limits limits = {0};
    cm_backend *backend = NULL;
    char found[192] = "", speed[192] = "", bytes[16];
    int version = 0;
    if (cm_cuda_driver_open(&driver) == CM_OK) {
        if (driver.driver_version(&version) == CM_CU_OK && cm_cuda_describe(&driver, 0, &properties) == CM_OK) {
            cm_format_bytes((double)properties.bytes, bytes);
            snprintf(found, sizeof found, "%s, %s, compute capability %d.%d, driver for CUDA %d.%d; ", properties.name,
                     bytes, properties.major, properties.minor, version / 1000, version % 1000 / 10);
            limits = cm_cuda_limits_of(&driver, &properties, 0);
        }
        cm_cuda_driver_close(&driver);
    }
    if (cm_backend_open("cuda", &backend) != CM_OK) {
        snprintf(note, size, "none is used: %s%s", found, cm_error_message());
        return CM_OK;
    }
    cm_status status = cm_cli_gpu_speed(backend, &limits, MEASURE_SECONDS, speed, sizeof speed);
    snprintf(note, size, "%s%s; %s", found, cm_backend_describe(backend), speed);
    cm_backend_close(backend);
    return status;
}

/* What runs of several ranks find here: MPI, and between GPUs NCCL. One rank needs neither. */
static cm_status check_ranks(char *note, size_t size) {
    cm_nccl nccl;
    int version = 0;
    bool has_mpi = cm_comm_check_mpi() == CM_OK;
    int used = snprintf(note, size, "%s; ", has_mpi ? "MPI" : cm_error_message());
    if (used < 0 || (size_t)used >= size) return CM_OK;
    if (cm_nccl_open(&nccl) != CM_OK || nccl.version(&version) != 0) {
        snprintf(note + used, size - (size_t)used, "%s", cm_error_message());
    } else {
        snprintf(note + used, size - (size_t)used, "NCCL %d.%d.%d", version / 10000, version % 10000 / 100,
                 version % 100);
    }
    return CM_OK;
}

/* While it trains a signal ends the training, so that the folder is removed before the process ends. */
static cm_stop stop;
static volatile sig_atomic_t signal_to_end;

static void on_signal(int number) {
    signal_to_end = number;
    cm_stop_ask(&stop);
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (signal(SIGHUP, SIG_IGN) != SIG_IGN) sigaction(SIGHUP, &action, NULL); /* under nohup it stays ignored */
}

/* From now on a signal ends the process at once, and one that came before does now. */
static void release_signals(void) {
    cm_interrupt_ends("doctor");
    if (signal(SIGHUP, SIG_IGN) != SIG_IGN) signal(SIGHUP, SIG_DFL);
    if (signal_to_end) raise(signal_to_end);
}

/* A small run in a folder of its own: acting, learning, a checkpoint, an evaluation. */
static cm_status train_briefly(const char *folder, char *note, size_t size) {
    static const char *const settings[] = {"env_steps=1536", "min_memory_steps=512", "final_evaluation_episodes=8"};
    char run_folder[PATH_MAX];
    cm_configuration configuration;
    cm_config *config = NULL;
    cm_progress *progress = NULL;
    cm_progress_style style = {.file = STDOUT_FILENO, .quiet = true};
    cm_run *run = NULL;
    cm_run_result result;
    double start = cm_clock_seconds();
    CM_TRY(cm_path_join(run_folder, sizeof run_folder, folder, "run"));
    CM_TRY(cm_configuration_load(NULL, settings, 3, &configuration, &config));
    cm_status status = cm_progress_create(&style, &progress);
    cm_run_request request = {.config = config,
                              .configuration = &configuration,
                              .directory = run_folder,
                              .is_passing = true,
                              .progress = progress,
                              .stop = &stop};
    if (status == CM_OK) status = cm_run_open(&request, &run);
    if (status == CM_OK) status = cm_run_train(run, &result);
    if (status == CM_OK) {
        snprintf(note, size, "%lld updates, mean return %.0f, %.1f s", (long long)result.updates, result.final.mean,
                 cm_clock_seconds() - start);
    }
    cm_run_close(run);
    cm_progress_destroy(progress);
    cm_config_destroy(config);
    return status;
}

static cm_status check_training(char *note, size_t size) {
    char folder[PATH_MAX];
    catch_signals();
    cm_status status = cm_temporary_folder("doctor", folder);
    const bool is_made = status == CM_OK;
    if (is_made) status = train_briefly(folder, note, size);
    const cm_status removed = is_made ? cm_directory_remove(folder) : status;
    release_signals();
    return status == CM_OK || signal_to_end ? removed : status;
}

static const check checks[] = {
    {"processors", check_processors},
    {"memory", check_memory},
    {"disk", check_disk},
    {"this folder", check_folder},
    {"configuration", check_configuration},
    {"gpu", check_gpu},
    {"backend", check_backend},
    {"ranks", check_ranks},
    {"training", check_training},
    {"gpu libraries", cm_cli_gpu_libraries}, /* last, as what it opens takes address space */
};

static cm_status run_doctor(cm_arguments *arguments) {
    cm_interrupt_ends("doctor");
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        char note[4000] = "";
        bool fine = checks[i].run(note, sizeof note) == CM_OK;
        cm_cli_line(22, "%-14s %-6s %s", checks[i].name, fine ? "ok" : "FAILED",
                    fine ? CM_PRINTABLE(note) : cm_error_message());
        fflush(stdout);
        if (!fine) arguments->verdict = 1;
    }
    return CM_OK;
}

static const cm_flag flags[] = {CM_FLAGS_END};

const cm_command cm_command_doctor = {
    .name = "doctor",
    .about = "check that this machine can train",
    .positional = "",
    .details = "Looks at processors, memory, disk, configuration, GPU, backends and what several ranks need, then "
               "trains for a second in a temporary folder, and says where NVIDIA's libraries are. Of a GPU it measures "
               "a large product, a copy of memory and a launch, and says what share that is of what the device is able "
               "to. Exit status 0 only if all is well; a machine without a GPU is well, too, and its lines say what is "
               "missing.",
    .flags = flags,
    .examples = "",
    .run = run_doctor,
};
