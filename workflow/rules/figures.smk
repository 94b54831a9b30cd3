# Figures: records gathered and judged, one notebook per kind of plot executed, the result copied to figures/.
from scaling_limits.pipeline.figures import figure_digest

EXTENSIONS = ["png", "pdf", "svg"]


def figure_files(paper, name):
    return expand("figures/{paper}/{figure}.{ext}", paper=paper, figure=name, ext=EXTENSIONS)


def figure(wildcards):
    return CONFIG.figure(wildcards.paper, wildcards.figure)


FOLDER = f"results/{PRESET}/{{paper}}/{{figure}}"


rule collect:
    input:
        records=lambda wildcards: job_outputs(wildcards.paper, figure(wildcards).experiment, "parquet"),
        meta=lambda wildcards: job_outputs(wildcards.paper, figure(wildcards).experiment, "json"),
        deviations="docs/deviations.yaml",
    output:
        expand(f"{FOLDER}/{{file}}", file=["cells.parquet", "records.parquet", "figure.json", "verdicts.json", "provenance.json"], allow_missing=True),
        summary=report(
            f"{FOLDER}/summary.html", category="{paper}", subcategory="{figure}", labels={"show": "caption, parameters, verdicts, provenance"}
        ),
    log:
        f"logs/{PRESET}/{{paper}}/{{figure}}/collect.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        figure=lambda wildcards: figure_digest(CONFIG, wildcards.paper, wildcards.figure),
    script:
        "../scripts/collect.py"


rule draw:
    input:
        expand(f"{FOLDER}/{{file}}", file=["cells.parquet", "records.parquet", "figure.json", "verdicts.json"], allow_missing=True),
        notebook=lambda wildcards: f"workflow/notebooks/{figure(wildcards).plot.kind}.ipynb",
    output:
        png=report(f"{FOLDER}/figure.png", category="{paper}", subcategory="{figure}", labels={"show": "figure"}),
        others=expand(f"{FOLDER}/figure.{{ext}}", ext=EXTENSIONS[1:], allow_missing=True),
        notebook=f"{FOLDER}/notebook.ipynb",
    log:
        f"logs/{PRESET}/{{paper}}/{{figure}}/draw.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        source=lambda wildcards: plot_source(figure(wildcards).plot.kind),
    script:
        "../scripts/draw.py"


def plot_source(kind):
    """The digest of the code that draws a kind of plot."""
    from scaling_limits.plotting.specs import PLOTS
    from scaling_limits.source import source_digest

    return source_digest([PLOTS[kind][0]])


rule publish:
    input:
        expand(f"{FOLDER}/figure.{{ext}}", ext=EXTENSIONS, allow_missing=True),
    output:
        expand("figures/{paper}/{figure}.{ext}", ext=EXTENSIONS, allow_missing=True),
    log:
        f"logs/{PRESET}/{{paper}}/{{figure}}/publish.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        # the folder holds the preset drawn last
        preset=PRESET,
    shell:
        "for file in {input:q}; do"
        ' cp "$file" figures/{wildcards.paper}/{wildcards.figure}."${{file##*.}}" || exit 1;'
        " done 2> {log:q}"
