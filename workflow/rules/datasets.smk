# Datasets: local copies or downloads are verified and prepared as one .npz file each.


rule dataset:
    output:
        f"{PATHS.datasets}/{{dataset}}.npz",
    log:
        "logs/datasets/{dataset}.log",
    benchmark:
        "logs/datasets/{dataset}.benchmark.tsv"
    # runs where Snakemake runs, even if jobs run elsewhere
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        checksum=lambda wildcards: catalogue.info(
            wildcards.dataset, CONFIG.user_datasets
        ).checksum,
    script:
        "../scripts/dataset.py"
