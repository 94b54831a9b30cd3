# Datasets: found on this machine or downloaded, verified, and prepared as one .npz each.


rule dataset:
    output:
        f"{PATHS.datasets}/{{dataset}}.npz",
    log:
        "logs/datasets/{dataset}.log",
    benchmark:
        "logs/datasets/{dataset}.benchmark.tsv"
    # where Snakemake runs, whatever runs its jobs
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        checksum=lambda wildcards: catalogue.info(
            wildcards.dataset, CONFIG.user_datasets
        ).checksum,
    script:
        "../scripts/dataset.py"
