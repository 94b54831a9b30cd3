# Regenerates every figure and table. Holds no science: it includes the rules and names the targets.

import os
import sys

# Snakemake adds the project's folder, where a file named as a module, such as random.py, would be imported in its place
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
    # found out later, it would be a traceback of Snakemake's, with outputs removed already
    refusing(require_writable)(WRITTEN)
    # By default (100 jobs a second) every look for jobs has Snakemake look again a second later, and so for ever: after
    # some hundred jobs it takes half a core. A limit that somebody sets stays.
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
