# Regenerates every figure and table. Holds no science: it reads the configuration, includes the rules, names the targets.
from scaling_limits.configuration import load

configfile: "config/config.yaml"

CONFIG = load(".", config)
PRESET = CONFIG.main.preset
RESULTS = f"results/{PRESET}"


wildcard_constraints:
    paper="[a-z-]+",
    figure="[A-Za-z0-9]+",
    experiment="[a-z0-9_]+",
    job="job-[0-9]+",
    ext="png|pdf|svg",


include: "workflow/rules/datasets.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/audit.smk"


rule figures:
    input:
        [figure_files(paper, name) for paper in CONFIG.papers for name in CONFIG.paper(paper).figures],
    default_target: True


for slug in CONFIG.papers:

    rule:
        name:
            slug
        input:
            [figure_files(slug, name) for name in CONFIG.paper(slug).figures],
