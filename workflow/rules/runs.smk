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
        mem_mb=CONFIG.main.resources.mem_mb,
        gpu=int(CONFIG.main.resources.device == "gpu"),
    params:
        # the keys of the cells and, through them, the source: what a rerun is decided by
        cells=lambda wildcards: job_digest(job_cells(wildcards)),
    script:
        "../scripts/run.py"
