# Regenerates all figures and tables. This file contains no science: it includes the rules and defines the targets.

import os
import sys

# Snakemake adds the project's folder, from which a file with the name of a module, such as random.py, would be imported
sys.path[:] = [path for path in sys.path if path not in ("", os.getcwd())]


report: "workflow/report/workflow.rst"


wildcard_constraints:
    paper="[a-z-]+",
    figure="[A-Za-z0-9_-]+",
    experiment="[A-Za-z0-9_-]+",
    job="job-[0-9]+",


include: "workflow/rules/common.smk"
include: "workflow/rules/datasets.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/audit.smk"


onstart:
    # detected later, this would give a traceback of Snakemake after outputs were removed
    refusing(require_writable)(WRITTEN)
    # With the default limit (100 jobs per second), every search for jobs schedules another one a second later, without
    # end: after some hundred jobs, Snakemake uses half a core. Limits set by the user are kept.
    limit = getattr(workflow.scheduler, "job_rate_limiter", None)
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


rule figures:
    default_target: True
    input:
        figure_files(figures_of(CONFIG.papers)),
        f"{RESULTS}/index.html",


for slug in CONFIG.papers:

    rule:
        name:
            slug
        input:
            asked_for(slug),
