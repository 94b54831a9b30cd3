# Runs: an experiment's cells are packed into jobs; a job trains what the store does not hold.
from functools import cache

from scaling_limits.pipeline.jobs import job_digest, pack


@cache
def jobs(paper, experiment):
    """The jobs of an experiment: lists of cells."""
    return pack(CONFIG.cells(paper, experiment), CONFIG.preset.job_seconds)


def job_cells(wildcards):
    return jobs(wildcards.paper, wildcards.experiment)[int(wildcards.job.removeprefix("job-"))]


def job_outputs(paper, experiment, suffix):
    folder = f"{RESULTS}/{paper}/experiments/{experiment}"
    return [f"{folder}/job-{index}.{suffix}" for index in range(len(jobs(paper, experiment)))]


rule run:
    input:
        lambda wildcards: sorted({f"results/datasets/{cell.dataset.name}.npz" for cell in job_cells(wildcards)}),
    output:
        records=f"results/{PRESET}/{{paper}}/experiments/{{experiment}}/{{job}}.parquet",
        meta=f"results/{PRESET}/{{paper}}/experiments/{{experiment}}/{{job}}.json",
    log:
        f"logs/{PRESET}/{{paper}}/{{experiment}}/{{job}}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        # the keys of the cells and, through them, the source: what a rerun is decided by
        cells=lambda wildcards: job_digest(job_cells(wildcards)),
    resources:
        mem_mb=CONFIG.main.resources.mem_mb,
        gpu=int(CONFIG.main.resources.device == "gpu"),
    threads: 1
    script:
        "../scripts/run.py"
