// A library that is no loader of Level Zero.
extern "C" [[gnu::visibility("default")]] int wick_is_no_loader();
int wick_is_no_loader() { return 0; }
