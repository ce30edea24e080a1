/* plugin_one.c with another name and a greater frame, to take its place in memory. */
#define PLUGIN plugin_two
#define ROOM   512
#include "plugin_one.c"
