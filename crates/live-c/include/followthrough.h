/* followthrough: cloth for games. A hundred points simulated, ten thousand shown.
 *
 * One file, made by `followthrough train`, holds a cloth. Units are metres, seconds and radians; Y is up. Nothing here is
 * shared between cloths: each may live on a thread of its own. No call throws, aborts or keeps a pointer that it was given.
 */
#ifndef FOLLOWTHROUGH_H
#define FOLLOWTHROUGH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What calls return. */
enum {
    FT_OK = 0,
    FT_NULL = 1,      /* a pointer that must not be null is */
    FT_FILE = 2,      /* not an operator file, or one that was cut or altered, or of another version */
    FT_COUNT = 3,     /* a list of the wrong length, or a longer one than there is room for */
    FT_NUMBER = 4,    /* a number that is not finite or makes no sense */
    FT_INTERNAL = 5   /* a mistake of ours */
};

typedef struct ft_cloth ft_cloth;

typedef struct ft_counts {
    uint32_t coarse;    /* simulated points */
    uint32_t fine;      /* points that are shown */
    uint32_t triangles; /* of the shown mesh */
    uint32_t joints;    /* transforms that a frame needs */
} ft_counts;

/* A sphere swept from one end to the other while its radius changes. */
typedef struct ft_capsule {
    float ends[2][3];
    float radii[2];
} ft_capsule;

/* Points with normal . x < offset are inside. */
typedef struct ft_plane {
    float normal[3];
    float offset;
} ft_plane;

typedef struct ft_frame {
    float seconds;               /* since the last frame */
    const float *skin;           /* world_from_rest of each joint: three rows of four */
    size_t joint_count;
    float wind[3];               /* m/s */
    float gusts;                 /* as a part of the wind */
    const ft_capsule *obstacles; /* at most 32, besides those on bones; each keeps its place in the list */
    size_t obstacle_count;
    const ft_plane *planes;      /* at most 8 */
    size_t plane_count;
    int teleported;              /* everything was put elsewhere: cloth is carried along */
} ft_frame;

/* Makes a cloth from the bytes of a file; they are copied. */
int ft_cloth_create(const uint8_t *bytes, size_t size, ft_cloth **cloth);
void ft_cloth_destroy(ft_cloth *cloth);

int ft_cloth_counts(const ft_cloth *cloth, ft_counts *counts);
/* Copies three corners of each triangle of the shown mesh; `count` is the number of indices there is room for. */
int ft_cloth_triangles(const ft_cloth *cloth, uint32_t *indices, size_t count);

/* How much of the folds is shown: 0 smooth, 1 as learnt, more exaggerates. */
int ft_cloth_set_detail(ft_cloth *cloth, float detail);
/* Levels of detail: 1, or more where the shown mesh was cut finer triangle by triangle; 0 without a cloth. */
uint32_t ft_cloth_levels(const ft_cloth *cloth);
/* From the next frame on, the shown points are those of another level: 0 is all, each further one about a quarter. ft_cloth_counts, triangles,
 * points, normals and tangents are always those of the level that was shown last. */
int ft_cloth_set_level(ft_cloth *cloth, uint32_t level);
/* The next frame begins where skinning has the cloth. */
int ft_cloth_reset(ft_cloth *cloth);
/* Simulates up to the next frame. On any code but FT_OK nothing has changed. */
int ft_cloth_advance(ft_cloth *cloth, const ft_frame *frame);

/* Three numbers for each shown point; good until the next call with this cloth. Null without a cloth. */
const float *ft_cloth_points(const ft_cloth *cloth);
const float *ft_cloth_normals(const ft_cloth *cloth);
/* Tangents of the last frame for normal maps: two texture coordinates in and four numbers out for each of `count` shown points. The fourth is the
 * side, as in glTF: the other tangent is its product with normal x tangent. */
int ft_cloth_tangents(const ft_cloth *cloth, const float *texture, float *tangents, size_t count);
/* How far from what was learnt the last frame was: above 1 is unknown ground, where folds fade. */
float ft_cloth_distance(const ft_cloth *cloth);

/* A sentence for a code; never null. */
const char *ft_message(int code);

#ifdef __cplusplus
}
#endif
#endif
