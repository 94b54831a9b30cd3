# Runs: an experiment's cells are packed into jobs; a job trains what the store does not hold.


rule run:
    input:
        job_datasets,
    output:
        records=f"{RESULTS}/{{paper}}/experiments/{{experiment}}/{{job}}.parquet",
        meta=f"{RESULTS}/{{paper}}/experiments/{{experiment}}/{{job}}.json",
    log:
        f"logs/{PRESET}/{{paper}}/{{experiment}}/{{job}}.log",
    benchmark:
        f"logs/{PRESET}/{{paper}}/{{experiment}}/{{job}}.benchmark.tsv"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        **({"gpu": 1} if CONFIG.main.resources.device == "gpu" else {}),
        # more with each attempt, of which --retries allows several
        mem_mb=lambda wildcards, attempt: attempt * job_mb(job_cells(wildcards)),
        runtime=lambda wildcards, attempt: attempt * job_minutes(job_cells(wildcards)),
        # where there is none, some schedulers refuse a rule that names it
    params:
        # the keys of the cells and, through them, the source: what a rerun is decided by
        cells=lambda wildcards: job_digest(job_cells(wildcards)),
    script:
        "../scripts/run.py"
