/* candle_load.h: whole execution traces into an analysis, and files of the corpus as text */
#ifndef TESTS_CANDLE_LOAD_H
#define TESTS_CANDLE_LOAD_H

#include "candle_analysis.h"

/* Appends the file below the corpus' folder candle; fails the test if there is none. */
void corpus_text(const char *name, size_t len, struct buf *out);
/* The lines through the format into the run file. */
void analysis_load(struct analysis *a, struct ts_str text);

#endif
