# Figures: records are gathered and judged, the notebook is executed with the cells of the figure's kind of plot, the
# figure's page is written, and the pictures are copied to figures/.


rule collect:
    input:
        records=job_outputs("parquet"),
        meta=job_outputs("json"),
        deviations="docs/deviations.yaml",
        amendments="docs/amendments.yaml",
    output:
        in_folder(*COLLECTED),
    log:
        f"logs/{PRESET}/{{paper}}/{{figure}}/collect.log",
    benchmark:
        f"logs/{PRESET}/{{paper}}/{{figure}}/collect.benchmark.tsv"
    conda:
        "../../envs/cpu.yaml"
    params:
        figure=lambda wildcards: figure_digest(
            CONFIG, wildcards.paper, wildcards.figure
        ),
    script:
        "../scripts/collect.py"


rule draw:
    input:
        in_folder(*COLLECTED),
        notebook="workflow/notebooks/figure.ipynb",
    output:
        in_folder("figure.png", "figure.pdf", "figure.svg"),
        summary=report(
            f"{FOLDER}/summary.html",
            caption="../report/figure.rst",
            category="{paper}",
            labels={"figure": "{figure}"},
        ),
        notebook=f"{FOLDER}/notebook.ipynb",
    log:
        f"logs/{PRESET}/{{paper}}/{{figure}}/draw.log",
    benchmark:
        f"logs/{PRESET}/{{paper}}/{{figure}}/draw.benchmark.tsv"
    conda:
        "../../envs/cpu.yaml"
    params:
        source=lambda wildcards: source_digest(
            (
                *drawing_modules(wildcards),
                "scaling_limits.plots.notebook",
                "scaling_limits.plots.figure_folder",
                "scaling_limits.audit.summary",
            )
        ),
    script:
        "../scripts/draw.py"


rule table:
    input:
        in_folder(*COLLECTED),
    output:
        csv=f"{FOLDER}/table.csv",
        tex=f"{FOLDER}/table.tex",
    log:
        f"logs/{PRESET}/{{paper}}/{{figure}}/table.log",
    benchmark:
        f"logs/{PRESET}/{{paper}}/{{figure}}/table.benchmark.tsv"
    conda:
        "../../envs/cpu.yaml"
    params:
        source=lambda wildcards: source_digest(
            (*drawing_modules(wildcards), "scaling_limits.plots.table_files")
        ),
    script:
        "../scripts/table.py"


rule publish:
    input:
        pictures=in_folder("figure.png", "figure.pdf", "figure.svg"),
        # tables are not copied, since a rule has the same outputs for all figures
        tables=table_files,
    output:
        expand("figures/{paper}/{figure}.{ext}", ext=EXTENSIONS, allow_missing=True),
    log:
        f"logs/{PRESET}/{{paper}}/{{figure}}/publish.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        # a change of preset redraws: figures/ contains the preset drawn last
        preset=PRESET,
    shell:
        "for file in {input.pictures:q}; do"
        ' cp "$file" figures/{wildcards.paper}/{wildcards.figure}."${{file##*.}}" || exit 1;'
        " done 2>&1 | tee {log:q} >&2"
