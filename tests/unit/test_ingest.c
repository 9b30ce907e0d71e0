/* test_ingest.c: runs the suites of ingest over a real spool and store in temporary folders */
#include <stdlib.h>

#include "ingest_bench.h"

#include "tracespool/log.h"

int main(void)
{
	SRunner *runner;
	int failed;

	log_set_level(LOG_L_ERR);
	runner = srunner_create(ingest_drops_suite());
	srunner_add_suite(runner, ingest_failures_suite());
	srunner_add_suite(runner, ingest_recovery_suite());
	srunner_add_suite(runner, ingest_parts_suite());
	srunner_add_suite(runner, ingest_salvage_suite());
	srunner_add_suite(runner, ingest_marks_suite());
	srunner_add_suite(runner, ingest_gone_suite());
	srunner_add_suite(runner, ingest_group_suite());
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
