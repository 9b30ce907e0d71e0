/* driver.c: runs a fuzz target over files: those given, else tests/fuzz/corpus/TARGET
 *
 * With clang the targets are built with -fsanitize=fuzzer instead, without this file.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "fuzz.h"

#define SIZE_MAX_READ ((size_t)16 << 20)

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = malloc(SIZE_MAX_READ), *exact;
	size_t n;

	if (!f || !data) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		if (f)
			fclose(f);
		free(data);
		return -1;
	}
	n = fread(data, 1, SIZE_MAX_READ, f);
	fclose(f);
	/* Exactly as large as the input, so that reading behind it is seen. */
	exact = malloc(n ? n : 1);
	if (exact) {
		memcpy(exact, data, n);
		LLVMFuzzerTestOneInput(exact, n);
	}
	free(exact);
	free(data);
	return exact ? 0 : -1;
}

/* The number of files, or -1. */
static int run_folder(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int count = 0;

	if (!dir) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	while (count >= 0 && (d = readdir(dir))) {
		char file[PATH_MAX];

		if (d->d_name[0] == '.')
			continue;
		if (snprintf(file, sizeof(file), "%s/%s", path, d->d_name) >= (int)sizeof(file) ||
		    run_file(file) < 0)
			count = -1;
		else
			count++;
	}
	closedir(dir);
	return count;
}

int main(int argc, char **argv)
{
	const char *src = getenv("srcdir");
	const char *name = strrchr(argv[0], '/');
	char folder[PATH_MAX];
	int count;

	for (int i = 1; i < argc; i++)
		if (run_file(argv[i]) < 0)
			return 1;
	if (argc > 1)
		return 0;
	name = name ? name + 1 : argv[0];
	if (!strncmp(name, "lt-", 3))
		name += 3;
	if (!strncmp(name, "fuzz_", 5))
		name += 5;
	if (snprintf(folder, sizeof(folder), "%s/tests/fuzz/corpus/%s", src ? src : ".", name) >=
	    (int)sizeof(folder))
		return 1;
	count = run_folder(folder);
	printf("%s: %d inputs\n", folder, count);
	return count > 0 ? 0 : 1; /* an empty corpus tests nothing */
}
