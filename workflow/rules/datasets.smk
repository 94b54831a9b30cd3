# Datasets: found on this machine or downloaded, verified, and prepared as one .npz each.


rule dataset:
    output:
        "results/datasets/{dataset}.npz",
    log:
        "logs/datasets/{dataset}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        source=lambda wildcards: dataset_source(wildcards.dataset),
    retries: 0
    script:
        "../scripts/dataset.py"


def dataset_source(name):
    """What a prepared dataset depends on besides its own file: what it should hold."""
    from scaling_limits.datasets import catalogue

    return catalogue.info(name, CONFIG.user_datasets).checksum
