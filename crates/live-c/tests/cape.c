/* A cape on shoulders that walk and turn: reads a file, runs two seconds, says where its hem is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "followthrough.h"

static int check(int code, const char *what)
{
    if (code != FT_OK)
        fprintf(stderr, "%s: %s\n", what, ft_message(code));
    return code == FT_OK;
}

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!file)
        return 2;
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(size);
    size_t got = fread(bytes, 1, size, file);
    fclose(file);

    ft_cloth *cape = NULL;
    int made = check(ft_cloth_create(bytes, got, &cape), "create");
    free(bytes); /* the cloth has its own copy */
    ft_counts counts;
    if (!made || !check(ft_cloth_counts(cape, &counts), "counts"))
        return 1;

    for (int i = 0; i < 120; i++) {
        float t = (float)i / 60.0f, c = cosf(t), s = sinf(t);
        float shoulders[12] = {c, 0, s, sinf(0.8f * t), 0, 1, 0, 0.03f * sinf(12 * t), -s, 0, c, 0};
        ft_capsule ball = {{{0.6f, -0.6f, 1.0f - t}, {0.6f, -0.6f, 1.0f - t}}, {0.1f, 0.1f}};
        ft_plane floor = {{0, 1, 0}, -1.2f};
        ft_frame frame = {0};
        frame.seconds = 1.0f / 60.0f;
        frame.skin = shoulders;
        frame.joint_count = 1;
        frame.wind[2] = 1.0f;
        frame.obstacles = &ball;
        frame.obstacle_count = 1;
        frame.planes = &floor;
        frame.plane_count = 1;
        if (!check(ft_cloth_advance(cape, &frame), "advance"))
            return 1;
    }
    const float *last = ft_cloth_points(cape) + 3 * (counts.fine - 1);
    printf("%u %u %.9g %.9g %.9g\n", counts.coarse, counts.fine, last[0], last[1], last[2]);
    ft_cloth_destroy(cape);
    return 0;
}
