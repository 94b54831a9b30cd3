# Runs: an experiment's cells are packed into jobs, and a job computes the cells that are not stored.


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
    # an order of its own in each process, since a job waits for cells that another process is computing; below zero, so
    # that finished figures are drawn first
    priority: lambda wildcards: -random()
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        # only if needed: some schedulers reject a rule that names a resource which they lack
        **({"gpu": 1} if CONFIG.main.resources.device == "gpu" else {}),
        # increased with each attempt that --retries allows
        mem_mb=lambda wildcards, attempt: attempt * job_mb(job_cells(wildcards)),
        runtime=lambda wildcards, attempt: attempted_minutes(
            job_cells(wildcards), attempt, CONFIG.main.resources.max_hours
        ),
    params:
        # a job is rerun if the keys of its cells, which include their source, change
        cells=lambda wildcards: job_digest(job_cells(wildcards)),
    script:
        "../scripts/run.py"
