// What is read of this library without loading it: the version of Snoopie that it belongs to, and what it was built with and for.
// snoopie/cli/identity.py looks for these words.
extern "C" __attribute__((used, visibility("hidden"))) const char snoopie_identity[] =
    "snoopie collector {\"version\": \"" SNOOPIE_VERSION "\", \"cuda\": \"" SNOOPIE_CUDA "\", \"nvbit\": \"" SNOOPIE_NVBIT
    "\", \"arches\": \"" SNOOPIE_ARCHES "\"}";
