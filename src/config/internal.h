/* What a cm_config is made of. Internal to the folder. */
#ifndef CM_CONFIG_INTERNAL_H
#define CM_CONFIG_INTERNAL_H

#include "config/config.h"
#include "config/value.h"

enum { CM_ORIGIN_BYTES = 160 };

typedef struct cm_config_entry {
    const cm_option *row;
    void *member;        /* in the caller's struct */
    const void *options; /* the module's struct that the member is part of */
    cm_config_source source;
    int line;          /* in the file that is being read, 0: not in it */
    bool is_known;     /* what there is to warn of has been said */
    bool is_suggested; /* by the task, as long as the source is the default */
    char origin[CM_ORIGIN_BYTES];
} cm_config_entry;

struct cm_config {
    cm_config_entry *entry; /* sections in the order in which they first occur, each in one piece */
    int count;
    char recipe[512];            /* "" without one */
    char schema[CM_OPTION_TEXT]; /* "$schema" of the file, "" without one */
};

/* The entry of "Section.key" or "key"; the section may be cut short and is matched without regard to case. Errors:
 * CM_ERR_INPUT names the nearest known key. */
cm_status cm_config_find(const cm_config *config, const char *name, cm_config_entry **out) CM_MUST_USE;

/* What a file may have at "$schema", as a row of no section. */
extern const cm_option cm_config_schema_row;

/* Whether entry i is the first one of its section. */
bool cm_config_starts_section(const cm_config *config, int i);

/* Whether some key stands in a section of this name, in capitals or not. */
bool cm_config_is_section(const cm_config *config, const char *name);
#endif
