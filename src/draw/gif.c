#include "draw/gif.h"

#include <gif_lib.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "draw/palette.h"

enum { COLOURS = 256 }; /* entries of a map of colours */

struct cm_gif {
    cm_gif_write *write;
    void *context; /* borrowed */
    cm_status status;
    GifFileType *file;   /* owned; NULL: ended */
    ColorMapObject *map; /* owned */
    cm_image last;       /* the frame before; owned */
    bool has_begun;
    GifPixelType *line; /* [width] of the frames; owned */
    cm_palette palette;
};

/* A part of the frames. */
typedef struct area {
    int x, y, width, height;
} area;

static int take_bytes(GifFileType *file, const GifByteType *bytes, int count) {
    cm_gif *gif = (cm_gif *)file->UserData;
    if (gif->status == CM_OK) gif->status = gif->write(gif->context, bytes, (size_t)count);
    return gif->status == CM_OK ? count : 0;
}

/* What giflib says of a call that failed, unless that was for what became of the bytes. */
static cm_status check(const cm_gif *gif, int result) {
    if (gif->status != CM_OK) return gif->status;
    return result == GIF_OK ? CM_OK : cm_fail(CM_ERR_MEMORY, "a GIF picture does not fit into memory");
}

cm_status cm_gif_create(cm_gif_write *write, void *context, cm_gif **out) {
    int error;
    CM_TRY(cm_alloc(out, 1, sizeof **out, "a GIF picture"));
    cm_gif *gif = *out;
    gif->write = write, gif->context = context;
    gif->map = GifMakeMapObject(COLOURS, NULL);
    gif->file = EGifOpen(gif, take_bytes, &error);
    if (gif->map && gif->file) return CM_OK;
    cm_gif_destroy(gif);
    *out = NULL;
    return cm_fail(CM_ERR_MEMORY, "a GIF picture does not fit into memory");
}

void cm_gif_destroy(cm_gif *gif) {
    int error;
    if (!gif) return;
    if (gif->status == CM_OK) gif->status = CM_ERR_STATE; /* what is not ended is not written */
    if (gif->file) (void)EGifCloseFile(gif->file, &error);
    GifFreeMapObject(gif->map);
    cm_image_free(&gif->last);
    free(gif->line);
    free(gif);
}

/* ---- what has changed ---- */

static inline const uint8_t *pixel_at(const cm_image *image, int x, int y) {
    return image->rgb + 3 * ((size_t)y * (size_t)image->width + (size_t)x);
}

static inline bool is_same(const cm_gif *gif, const cm_image *image, int x, int y) {
    const uint8_t *a = pixel_at(image, x, y), *b = pixel_at(&gif->last, x, y);
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

static bool has_changed(const cm_gif *gif, const cm_image *image, int x, int y) {
    return !gif->has_begun || !is_same(gif, image, x, y);
}

/* Pixels `first` .. `end` - 1 of a row. */
typedef struct span {
    int first, end;
} span;

/* How many pixels from `first` on are the same, in steps of eight while they are. */
static int same_from(const cm_gif *gif, const cm_image *image, int first, int y) {
    enum { STEP = 8 };
    int x = first;
    while (x + STEP <= image->width && memcmp(pixel_at(image, x, y), pixel_at(&gif->last, x, y), 3 * STEP) == 0)
        x += STEP;
    while (x < image->width && is_same(gif, image, x, y)) x++;
    return x;
}

/* From the first pixel of a row that has changed to the last one; before the first frame every pixel has. */
static span find_span(const cm_gif *gif, const cm_image *image, int y) {
    span s = {0, image->width};
    if (!gif->has_begun) return s;
    s.first = same_from(gif, image, 0, y);
    while (s.end > s.first && is_same(gif, image, s.end - 1, y)) s.end--;
    return s;
}

/* A frame like the last one has one pixel. */
static area find_changed(const cm_gif *gif, const cm_image *image) {
    int top = image->height, bottom = 0, left = image->width, right = 0;
    for (int y = 0; y < image->height; y++) {
        const span s = find_span(gif, image, y);
        if (s.first == s.end) continue;
        top = y < top ? y : top, bottom = y + 1;
        left = s.first < left ? s.first : left, right = s.end > right ? s.end : right;
    }
    return top >= bottom ? (area){0, 0, 1, 1} : (area){left, top, right - left, bottom - top};
}

/* ---- frames ---- */

static void choose_colours(cm_gif *gif, const cm_image *image, area a) {
    cm_palette_begin(&gif->palette);
    for (int y = a.y; y < a.y + a.height; y++) {
        const span s = find_span(gif, image, y);
        for (int x = s.first; x < s.end; x++)
            if (has_changed(gif, image, x, y)) cm_palette_add(&gif->palette, pixel_at(image, x, y));
    }
    cm_palette_choose(&gif->palette);
}

/* The map of the palette, as short as it may be, and an entry after it for pixels that stay: its index. */
static int fill_map(cm_gif *gif) {
    const int bits = GifBitSize(gif->palette.count + 1);
    gif->map->ColorCount = 1 << bits, gif->map->BitsPerPixel = bits;
    memset(gif->map->Colors, 0, (size_t)COLOURS * sizeof *gif->map->Colors);
    for (int i = 0; i < gif->palette.count; i++) {
        const uint8_t *rgb = gif->palette.rgb[i];
        gif->map->Colors[i] = (GifColorType){rgb[0], rgb[1], rgb[2]};
    }
    return gif->palette.count;
}

/* The size of all, and that they begin again after the last. */
static cm_status begin(cm_gif *gif, const cm_image *image) {
    static const unsigned char for_ever[] = {1, 0, 0};
    CM_TRY(cm_alloc(&gif->line, (size_t)image->width, sizeof *gif->line, "a GIF picture"));
    EGifSetGifVersion(gif->file, true);
    CM_TRY(check(gif, EGifPutScreenDesc(gif->file, image->width, image->height, 8, 0, NULL)));
    CM_TRY(check(gif, EGifPutExtensionLeader(gif->file, APPLICATION_EXT_FUNC_CODE)));
    CM_TRY(check(gif, EGifPutExtensionBlock(gif->file, 11, "NETSCAPE2.0")));
    CM_TRY(check(gif, EGifPutExtensionBlock(gif->file, sizeof for_ever, for_ever)));
    return check(gif, EGifPutExtensionTrailer(gif->file));
}

static cm_status put_pixels(cm_gif *gif, const cm_image *image, area a, int clear) {
    for (int y = a.y; y < a.y + a.height; y++) {
        const span s = find_span(gif, image, y);
        memset(gif->line, clear, (size_t)a.width);
        for (int x = s.first; x < s.end; x++)
            if (has_changed(gif, image, x, y))
                gif->line[x - a.x] = (GifPixelType)cm_palette_index(&gif->palette, pixel_at(image, x, y));
        CM_TRY(check(gif, EGifPutLine(gif->file, gif->line, a.width)));
    }
    return CM_OK;
}

static cm_status keep(cm_gif *gif, const cm_image *image) {
    CM_TRY(cm_image_resize(&gif->last, image->width, image->height));
    memcpy(gif->last.rgb, image->rgb, 3 * (size_t)image->width * (size_t)image->height);
    gif->has_begun = true;
    return CM_OK;
}

cm_status cm_gif_add(cm_gif *gif, const cm_image *image, int hundredths) {
    if (!gif->has_begun) CM_TRY(begin(gif, image));
    const area a = find_changed(gif, image);
    choose_colours(gif, image, a);
    const GraphicsControlBlock control = {
        .DisposalMode = DISPOSE_DO_NOT, .DelayTime = hundredths, .TransparentColor = fill_map(gif)};
    GifByteType extension[4];
    EGifGCBToExtension(&control, extension);
    CM_TRY(check(gif, EGifPutExtension(gif->file, GRAPHICS_EXT_FUNC_CODE, sizeof extension, extension)));
    CM_TRY(check(gif, EGifPutImageDesc(gif->file, a.x, a.y, a.width, a.height, false, gif->map)));
    CM_TRY(put_pixels(gif, image, a, control.TransparentColor));
    return keep(gif, image);
}

cm_status cm_gif_end(cm_gif *gif) {
    int error;
    GifFileType *file = gif->file;
    gif->file = NULL;
    return check(gif, EGifCloseFile(file, &error));
}
