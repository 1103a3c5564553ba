# The text behind `##` describes a target; `make` alone prints these texts.
# Targets do the set-up that they need; it takes no time if it has been done before.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
# packages from other folders must not replace the pinned ones
unexport PYTHONPATH PYTHONHOME

PY := .venv/bin/python
AUTOGRADER := .venv/bin/autograder
SAY := @printf '==> %s\n'

# the class to grade, and the number of submissions that are graded at the same time
COURSE ?= course
JOBS ?= 2

##@ Every day

# one process, because for an unchanged class, loading the packages costs more than all the rest
.PHONY: grade
grade: setup-grade $(COURSE)/submitted ## grade the class in course/submitted; write its gradebook, feedback and CSV
	@$(PY) tools/in_turn.py grade $(COURSE)/submitted --jobs $(JOBS) --resume \
		+ feedback $(COURSE) + export csv $(COURSE)

# Runs only if there is no class yet, so that the examples are never mixed with a real class.
$(COURSE)/submitted:
	$(SAY) "No class in $@ yet: using the example class in examples/submitted"
	@mkdir -p $(COURSE) && rm -rf $@.part && cp -R examples/submitted $@.part && mv $@.part $@

# three processes on two cores: many tests wait for a limit, a kernel or a browser
.PHONY: test
test: setup-test ## set up, lint, and run all tests (PYTEST passes options, such as PYTEST="tests/hidden -x")
	@lint=0; $(MAKE) lint || lint=$$?; \
	[ $$lint -eq 0 ] || printf '==> %s\n' "Lint found something (above); the tests run anyway"; \
	printf '==> %s\n' "Running the tests"; \
	$(ALL_TESTS) $(PYTEST); tests=$$?; \
	exit $$((tests ? tests : lint))

ALL_TESTS := $(PY) -m pytest --implementation solutions --numprocesses 3 --dist loadfile --no-loadscope-reorder

.PHONY: test-fast
test-fast: setup-test ## run the tests that need neither torch nor a sandbox (about 15 seconds)
	@$(PY) -m pytest --quiet --override-ini=addopts= --import-mode=importlib -p no:cacheprovider \
		-k 'not browser and not hostile' $(FAST)

FAST := $(addprefix tests/autograder/,test_architecture.py test_deadlines.py classroom collecting \
	exports feedback results)

# apart from `test`, because measuring makes tests of our own code take up to twice as long
.PHONY: coverage
coverage: setup-test ## run all tests, and print the lines and branches of the grader that they do not execute
	@$(ALL_TESTS) --cov --cov-branch --cov-report= $(PYTEST); tests=$$?; \
	$(PY) -m coverage report --show-missing --skip-covered --sort cover; floor=$$?; \
	exit $$((tests ? tests : floor))

##@ Course content

.PHONY: validate
validate: setup-grade ## check the content: solutions pass, stubs fail, and every known mistake is caught
	@$(AUTOGRADER) validate

.PHONY: names
names: setup-grade ## name the wrong answers of tests/unseen, and print new names (NAMES=ASSIGNMENT/EXERCISE selects)
	@$(PY) tools/names.py $(NAMES)

.PHONY: student-names
student-names: setup-test ## run `check` on every known mistake in a student's folder: nine in ten must get their own sentence
	@EVERY_MISTAKE=1 $(PY) -m pytest --quiet tests/autograder/student/test_known_mistakes.py

.PHONY: student-mistakes
student-mistakes: setup-grade ## run known mistakes in the public checks, and write the results for the bundles (then run make release)
	@$(PY) tools/student_mistakes.py $(NAMES)

.PHONY: tables
tables: setup-grade ## run known mistakes in changed hidden suites, and write the results into tests/tables
	@$(PY) tools/tables.py $(NAMES)

.PHONY: release
release: setup-grade ## write assignments/ and the bundles for students
	@$(AUTOGRADER) release

.PHONY: wheels
wheels: setup-grade ## build the packages that pip installs, for graders and for students, into dist/wheels
	@$(PY) -m tools.wheels

.PHONY: weights
weights: setup-grade ## train the capstone's models again (about three minutes), and print the loss curve for stories.py
	@$(PY) tools/storyteller.py

.PHONY: expected
expected: setup-grade ## grade the example class, write its scores to examples/expected.json, and print what changed
	@$(AUTOGRADER) expected --jobs $(JOBS)

##@ The grader itself

.PHONY: docs
docs: setup-test ## build the site into build/docs: all pages, and the lessons with their pictures
	@$(PY) -m tools.book
	@$(PY) -m sphinx --quiet --fail-on-warning --builder html docs build/docs
	$(SAY) "The site is build/docs/index.html"

.PHONY: bench
bench: setup-test build/otter/.ready ## time grading, other graders, a gradebook of 5,000, growing classes, many jobs, a cluster
	@$(PY) benchmarks/grading.py --to docs/bench.md $(BENCH)
	@$(PY) benchmarks/assignments.py --to docs/bench.md
	@$(PY) benchmarks/gradebook.py $(BENCH_GRADEBOOK)
	@$(PY) benchmarks/growth.py $(BENCH_GROWTH)
	@$(PY) benchmarks/many_jobs.py
	@$(PY) benchmarks/cluster.py

.PHONY: bench-security
bench-security: setup-grade build/otter/.ready ## try the same attacks and accidents on nbgrader, otter-grader and this project (half an hour)
	@$(PY) -m benchmarks.security

# otter-grader gets a separate environment, with the pinned version of torch
build/otter/.ready: constraints.txt
	$(SAY) "Installing otter-grader into build/otter"
	@$(PY) -m venv --clear build/otter
	@build/otter/bin/python -m pip install --quiet --disable-pip-version-check \
		otter-grader==7.0.0 ipykernel "$$(grep '^torch==' constraints.txt)"
	@build/otter/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable . einops
	@touch $@

.PHONY: term
term: setup-test ## grade a term of 300 made-up students, and calculate every total a second time (TERM_STUDENTS=60 for fewer)
	@TERM_COURSE=attention TERM_STUDENTS=$(TERM_STUDENTS) NIGHT_STUDENTS=30 $(PY) -m pytest tests/autograder/term

TERM_STUDENTS ?= 300

.PHONY: screenshots
screenshots: setup-test ## take the pictures of JupyterLab for docs/students.md
	@$(PY) tools/screenshots.py

.PHONY: soak
soak: setup-test ## test with random files, killed graders and repeated correct answers (an hour or more; SOAK, SOAK_VERDICTS pass options)
	@MAKE_TARGET=soak tools/setup.sh instructor dev soak
	@$(PY) tools/soak.py $(SOAK)
	@$(PY) tools/soak_verdicts.py $(SOAK_VERDICTS)

.PHONY: container
container: setup-grade ## build the container image without a registry, and grade a class in it (CONTAINER passes options; needs root)
	@$(PY) -m tools.container $(CONTAINER)

.PHONY: versions
versions: ## run the core tests with other versions of Python, PyTorch and nbgrader, and write docs/versions.md (VERSIONS passes options)
	@python3 tools/versions.py $(VERSIONS)

.PHONY: mutation
mutation: setup-grade ## change the solutions in thousands of small ways, and check that the hidden suites notice
	@$(PY) -m tools.mutation $(MUTATION)

.PHONY: lint
lint: setup-test ## check style, types and imports between packages
	@failed=; \
	printf '==> %s\n' "Style (ruff)"; \
	$(PY) -m ruff check --quiet --output-format concise . || failed="$$failed style"; \
	$(PY) -m ruff format --quiet --output-format concise --check . || failed="$$failed layout"; \
	printf '==> %s\n' "Types (mypy)"; \
	$(PY) -m mypy --no-error-summary || failed="$$failed types"; \
	printf '==> %s\n' "Imports (import-linter)"; \
	.venv/bin/lint-imports --no-logo --no-cache || failed="$$failed imports"; \
	[ -z "$$failed" ] || { \
		echo "lint:$$failed: see above (make format fixes most of style and layout)" >&2; exit 1; }

.PHONY: format
format: setup-test ## fix the style errors that can be fixed automatically
	@$(PY) -m ruff check --quiet --fix . ; $(PY) -m ruff format --quiet .

##@ Set-up

.PHONY: setup
setup: setup-test ## set up everything (test does this as well)

.PHONY: setup-grade
setup-grade: ## set up only what grading needs
	@tools/system-packages.sh bubblewrap bwrap "isolates what students submit" || \
		echo "    continuing without it, in a weaker isolation tier (see: autograder doctor)" >&2
	@MAKE_TARGET=grade tools/setup.sh instructor

.PHONY: setup-test
setup-test:
	@tools/system-packages.sh bubblewrap bwrap "isolates what students submit" || \
		echo "    continuing without it: tests that need it are skipped" >&2
	@# tried once only: the tests work without it, and some systems do not have the package
	@[ -e .venv/.ready-dev ] || tools/system-packages.sh chromium \
		"chromium chromium-browser google-chrome" "shows pages to the browser tests" || \
		echo "    continuing without it: browser tests are skipped" >&2
	@[ -e .venv/.ready-dev ] || tools/system-packages.sh postgresql \
		"pg_createcluster initdb" "is the database in which gradebooks are tested" || \
		echo "    continuing without it: tests of PostgreSQL are skipped" >&2
	@MAKE_TARGET=test tools/setup.sh instructor dev

.PHONY: clean
clean: ## remove .venv, caches and builds, but never a class in course/
	@rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -not -path './course/*' -prune -exec rm -rf {} +

.PHONY: help
help: ## print this list
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-17s%s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
