/* A plugin that calls back. plugin_two.so is made of it too, with another name and another size of
 * a frame (e2e.mk): so addresses of one are those of the other where it takes its place.
 */
#ifndef PLUGIN
#define PLUGIN plugin_one
#define ROOM   256
#endif

void PLUGIN(void (*call)(void));
void run(void (*call)(void));

void PLUGIN(void (*call)(void))
{
    volatile char room[ROOM];

    room[0] = 0;
    call();
    room[1] = room[0];
}

void run(void (*call)(void))
{
    PLUGIN(call);
    __asm__ volatile("");
}
