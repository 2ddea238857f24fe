#include "env/advice.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/file.h"
#include "core/nearest.h"
#include "env/env.h"
#include "env/python.h"

/* Where ids come from. */
struct kit {
    const char *place;   /* in front of the id, after "gymnasium:", but for Atari's */
    const char *version; /* that is taken, whatever was written; NULL: as written */
    const char *package; /* for pip install */
};

static const struct kit gymnasium = {"", NULL, "gymnasium"}, box2d = {"", NULL, "\"gymnasium[box2d]\""},
                        mujoco = {"", NULL, "\"gymnasium[mujoco]\""}, atari = {"", "", "ale-py"},
                        minigrid = {"minigrid:", NULL, "minigrid"}, highway = {"highway_env:", NULL, "highway-env"},
                        minatar = {"MinAtar/", NULL, "minatar"},
                        flappy = {"flappy_bird_gymnasium:", NULL, "flappy-bird-gymnasium"},
                        popgym = {"popgym:", NULL, "popgym"}, panda = {"panda_gym:", NULL, "panda-gym"},
                        robotics = {"gymnasium_robotics:", NULL, "gymnasium-robotics"},
                        pusht = {"gym_pusht:gym_pusht/", NULL, "gym-pusht"},
                        pyflyt = {"PyFlyt.gym_envs:PyFlyt/", NULL, "PyFlyt"},
                        vizdoom = {"vizdoom.gymnasium_wrapper:", NULL, "vizdoom"};

static const struct id {
    const char *name; /* without its version */
    const struct kit *kit;
} ids[] = {
    {"FrozenLake", &gymnasium},
    {"FrozenLake8x8", &gymnasium},
    {"CliffWalking", &gymnasium},
    {"CliffWalkingSlippery", &gymnasium},
    {"Taxi", &gymnasium},
    {"Blackjack", &gymnasium},
    {"LunarLander", &box2d},
    {"LunarLanderContinuous", &box2d},
    {"BipedalWalker", &box2d},
    {"BipedalWalkerHardcore", &box2d},
    {"CarRacing", &box2d},
    {"Ant", &mujoco},
    {"HalfCheetah", &mujoco},
    {"Hopper", &mujoco},
    {"Humanoid", &mujoco},
    {"HumanoidStandup", &mujoco},
    {"InvertedDoublePendulum", &mujoco},
    {"InvertedPendulum", &mujoco},
    {"Pusher", &mujoco},
    {"Reacher", &mujoco},
    {"Swimmer", &mujoco},
    {"Walker2d", &mujoco},
    {"Pong", &atari},
    {"Breakout", &atari},
    {"SpaceInvaders", &atari},
    {"Seaquest", &atari},
    {"Qbert", &atari},
    {"MsPacman", &atari},
    {"BeamRider", &atari},
    {"Enduro", &atari},
    {"Freeway", &atari},
    {"Asterix", &atari},
    {"MontezumaRevenge", &atari},
    {"MiniGrid-Empty-5x5", &minigrid},
    {"MiniGrid-DoorKey-5x5", &minigrid},
    {"BabyAI-GoToRedBall", &minigrid},
    {"highway", &highway},
    {"parking", &highway},
    {"FlappyBird", &flappy},
};

/* Ids that a kit has by the dozen: how they begin. */
static const struct id families[] = {
    {"ALE/", &atari},     {"MiniGrid-", &minigrid}, {"BabyAI-", &minigrid},    {"MinAtar/", &minatar},
    {"popgym-", &popgym}, {"Panda", &panda},        {"PointMaze_", &robotics}, {"AntMaze_", &robotics},
    {"Fetch", &robotics}, {"gym_pusht/", &pusht},   {"PyFlyt/", &pyflyt},      {"Vizdoom", &vizdoom},
};

enum { IDS = sizeof ids / sizeof *ids, ID = 64 };

static const char *id_name(const void *rows, int i) { return ((const struct id *)rows)[i].name; }

static bool begins(const char *text, const char *with) { return strncasecmp(text, with, strlen(with)) == 0; }

static bool ends(const char *text, const char *with) {
    const size_t length = strlen(text), rest = strlen(with);
    return length > rest && strcasecmp(text + length - rest, with) == 0;
}

/* The "-v3" at the end of an id, "" if there is none. */
static const char *version_of(const char *name) {
    const char *dash = strrchr(name, '-');
    if (!dash || dash[1] != 'v' || !isdigit((unsigned char)dash[2])) return name + strlen(name);
    return dash[2 + strspn(dash + 2, "0123456789")] == '\0' ? dash : name + strlen(name);
}

/* An id with its namespace, "ALE/Pong-v5" of "gymnasium:ale_py:ALE/Pong-v5". */
static const char *id_of(const char *name) {
    const char *colon = strrchr(name, ':');
    return colon ? colon + 1 : name;
}

/* An id without its namespace, its version and the variants of Atari's. */
static void stem_of(const char *name, char out[ID]) {
    static const char *const variants[] = {"NoFrameskip", "Deterministic", "-ram"};
    const char *from = id_of(name), *slash = strrchr(from, '/');
    if (slash) from = slash + 1;
    snprintf(out, ID, "%.*s", (int)(version_of(from) - from), from);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (ends(out, variants[i])) out[strlen(out) - strlen(variants[i])] = '\0';
}

/* The kit that has this id, NULL if none is known to; the stem is then as it is there. */
static const struct kit *kit_of(const char *name, char stem[ID]) {
    const char *id = id_of(name);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (begins(id, families[i].name)) return families[i].kit;
    for (int i = 0; i < IDS && !strchr(id, '/'); i++) {
        if (strcasecmp(ids[i].name, stem) != 0) continue;
        snprintf(stem, ID, "%s", ids[i].name);
        return ids[i].kit;
    }
    return NULL;
}

/* The row of what is near, or a beginning of its name; -1 if there is none. */
static int find_near(const char *stem) {
    enum { LEAST = 4 };
    for (int i = 0; i < IDS && strlen(stem) >= LEAST; i++)
        if (begins(ids[i].name, stem)) return i;
    return cm_nearest_name(stem, ids, IDS, id_name);
}

static void write_id(const struct kit *kit, const char *stem, const char *version, char out[2 * ID]) {
    snprintf(out, 2 * ID, "%s:%s%.40s%.8s", kit == &atari ? "atari" : "gymnasium", kit->place, stem,
             kit->version ? kit->version : version);
}

static cm_status advise_id(const char *name, const struct kit *kit, const char *stem, const char *version) {
    char id[2 * ID];
    write_id(kit, stem, version, id);
    return cm_fail(CM_ERR_INPUT, "%.64s: is %s: cumind train %s (it needs pip install %s)", name,
                   kit == &atari ? "a game of Atari's" : "one of Gymnasium's", id, kit->package);
}

cm_status cm_env_fail_absent(const char *path) {
    return cm_fail(CM_ERR_INPUT, "%s: there is no such file; if it has moved, say where it is with --set env_name=PATH",
                   path);
}

/* CM_OK if it is a file. */
static cm_status check_file(const char *name) {
    if (cm_file_is_regular(name)) return CM_OK;
    return cm_fail(CM_ERR_INPUT, cm_file_is_named(name) ? "%s: not a regular file" : "%s: there is no such file", name);
}

/* Files that are none of an environment yet. */
static cm_status advise_file(const char *name) {
    static const char *const sources[][2] = {{".c", "cc"}, {".cc", "c++"}, {".cpp", "c++"}, {".cxx", "c++"}};
    const char *folder = strchr(name, '/') ? "" : "./";
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (!ends(name, sources[i][0])) continue;
        CM_TRY(check_file(name));
        const int length = (int)(strlen(name) - strlen(sources[i][0]));
        return cm_fail(CM_ERR_INPUT,
                       "%s: is a source; build a library: %s -O2 -shared -fPIC %s $(pkg-config --cflags cumind) -o "
                       "%.*s.so; then cumind train %s%.*s.so",
                       name, sources[i][1], name, length, name, folder, length, name);
    }
    if (!ends(name, ".json")) return CM_OK;
    CM_TRY(check_file(name));
    return cm_fail(CM_ERR_INPUT, "%s: is a configuration: --config %s", name, name);
}

/* "grid" or "./grid" where there is a grid.py, "grid" where there is a grid.so; cm_env_open_library says "./grid.so".
 */
static cm_status advise_ending(const char *name) {
    static const char *const endings[] = {".py", ".so"};
    char path[4096];
    const bool is_path = strchr(name, '/') != NULL;
    for (int i = 0; i < (is_path ? 1 : 2); i++) {
        const int length = snprintf(path, sizeof path, "%s%s%s", is_path ? "" : "./", name, endings[i]);
        if (length < (int)sizeof path && cm_file_is_regular(path))
            return cm_fail(CM_ERR_INPUT, "%s: there is no such environment; the file here is %s", name, path);
    }
    return CM_OK;
}

/* It is none that is known. */
static cm_status advise_unknown_id(const char *name) {
    return cm_fail(CM_ERR_INPUT,
                   "%.64s: there is no such environment; one of Gymnasium's is written gymnasium:%.64s, one that a "
                   "package registers gymnasium:PACKAGE:%.64s",
                   name, name, name);
}

/* "PACKAGE:ID", as Gymnasium's make has it, and "NAMESPACE/ID" that is no file. */
static cm_status advise_whole_id(const char *name) {
    static const char alone[] = "gymnasium/";
    if (*version_of(name) == '\0') return CM_OK;
    if (begins(name, alone))
        return cm_fail(CM_ERR_INPUT, "%.64s: write gymnasium:%.64s", name, name + sizeof alone - 1);
    if (strchr(name, ':')) return cm_fail(CM_ERR_INPUT, "%.64s: write gymnasium:%.64s", name, name);
    return strchr(name, '/') ? advise_unknown_id(name) : CM_OK;
}

/* MinAtar's games are rows of the registry: "MinAtar/SpaceInvaders-v1" is minatar_space_invaders. The package's ids of
 * version 1 have the actions that do something, those of version 0 all six. */
static cm_status advise_minatar(const char *name, const char *stem) {
    char row[2 * ID] = "minatar";
    size_t length = strlen(row);
    int count;
    const cm_env_def *const *registry = cm_env_registry(&count);
    for (const char *at = stem; *at && length + 3 < sizeof row; at++) {
        if (at == stem || isupper((unsigned char)*at)) row[length++] = '_';
        row[length++] = (char)tolower((unsigned char)*at);
    }
    row[length] = '\0';
    for (int i = 0; i < count; i++)
        if (strcmp(registry[i]->name, row) == 0)
            return cm_fail(CM_ERR_INPUT, "%.64s: is built in: cumind train %s%s", name, row,
                           strcmp(version_of(name), "-v1") == 0 ? " --set minimal_actions=true" : "");
    return CM_OK;
}

cm_status cm_env_advise(const char *name) {
    char stem[ID];
    stem_of(name, stem);
    CM_TRY(advise_file(name));
    const bool is_path = strchr(name, '/') && (name[0] == '.' || name[0] == '/' || cm_file_is_named(name));
    if (!cm_file_is_named(name) || !is_path) CM_TRY(advise_ending(name));
    if (is_path) return CM_OK;
    if (begins(name, "gym:"))
        return cm_fail(CM_ERR_INPUT, "%.64s: write gymnasium:%.64s, by which Gymnasium's are known", name, name + 4);
    if (begins(name, "MinAtar/") || begins(name, "MinAtar:")) CM_TRY(advise_minatar(name, stem));
    const struct kit *kit = kit_of(name, stem);
    return kit ? advise_id(name, kit, stem, version_of(name)) : advise_whole_id(name);
}

cm_status cm_env_advise_near(const char *name) {
    char stem[ID];
    stem_of(name, stem);
    const int nearest = find_near(stem);
    if (nearest >= 0) return advise_id(name, ids[nearest].kit, ids[nearest].name, version_of(name));
    return *version_of(name) == '\0' ? CM_OK : advise_unknown_id(name);
}

/* What is said of a module that is not there: it has another name than its package, "flappy-bird-gymnasium". */
static cm_status advise_module(const char *name, const char *said) {
    char module[128];
    snprintf(module, sizeof module, "%s", name);
    for (char *c = module; c < module + (id_of(name) - name); c++)
        if (*c == '-') *c = '_';
    if (strcmp(module, name) == 0) return cm_fail(CM_ERR_INPUT, "%s", said);
    return cm_fail(CM_ERR_INPUT, "%s; modules have underscores in their names: cumind train %s", said, module);
}

cm_status cm_env_advise_package(const char *name) {
    char stem[ID], id[2 * ID], said[1024];
    stem_of(name, stem);
    snprintf(said, sizeof said, "%s", cm_error_message());
    if (cm_env_is_atari(name))
        return strstr(said, "No module named") ? cm_fail(CM_ERR_INPUT, "%s; pip install ale-py", said) : CM_ERR_INPUT;
    const struct kit *kit = kit_of(name, stem);
    const bool lacks_gymnasium = strstr(said, "No module named 'gymnasium'"), lacks = strstr(said, "No module named");
    const bool is_unknown = strstr(said, "NotFound");
    if (!kit && lacks_gymnasium) kit = &gymnasium;
    if (!lacks && !is_unknown) return CM_ERR_INPUT;
    if (!kit && lacks) return advise_module(name, said);
    if (!kit && strchr(name, ':') == strrchr(name, ':') && !strstr(said, "VersionNotFound"))
        return cm_fail(CM_ERR_INPUT, "%s; one that a package registers is written gymnasium:PACKAGE:%.64s", said,
                       id_of(name));
    if (!kit) return CM_ERR_INPUT;
    write_id(kit, stem, version_of(name), id);
    if (strcmp(id, name) == 0 || lacks_gymnasium)
        return cm_fail(CM_ERR_INPUT, "%s; pip install %s", said, kit->package);
    return cm_fail(CM_ERR_INPUT, "%s; pip install %s, then cumind train %s", said, kit->package, id);
}
