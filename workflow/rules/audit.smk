# The audit: verdicts of all figures, or of one paper's, as tables; an exit code; and a page of all figures and verdicts.
# `--config audit=stored` judges what is there and reports the rest as missing.

for scope in ["all", *CONFIG.papers]:
    scope_papers = CONFIG.papers if scope == "all" else [scope]
    scope_folder = RESULTS if scope == "all" else f"{RESULTS}/{scope}"

    rule:
        name:
            f"verdicts_{scope}"
        input:
            audited(scope_papers, "verdicts.json"),
        output:
            json=f"{scope_folder}/audit.json",
            xml=f"{scope_folder}/audit.xml",
            md=f"{scope_folder}/audit.md",
        log:
            f"logs/{PRESET}/verdicts-{scope}.log",
        conda:
            "../../envs/cpu.yaml"
        params:
            figures=figures_of(scope_papers),
            stored=audited_as_stored(scope_papers, "verdicts.json"),
        script:
            "../scripts/verdicts.py"

    rule:
        name:
            "audit" if scope == "all" else f"audit/{scope}"
        input:
            json=f"{scope_folder}/audit.json",
            reference="tests/reference/decided.yaml",
        log:
            f"logs/{PRESET}/audit-{scope}.log",
        conda:
            "../../envs/cpu.yaml"
        params:
            # the share of decided claims is known for all figures of all papers together
            whole=scope == "all" and CONFIG.main.audit != "stored",
        script:
            "../scripts/audit.py"


rule index:
    input:
        audited(CONFIG.papers, "figure.json", "figure.png"),
        audit=f"{RESULTS}/audit.json",
    output:
        index=f"{RESULTS}/index.html",
        in_report=report(
            f"{RESULTS}/report_index.html",
            caption="../report/index.rst",
            category="All figures",
            labels={"page": "thumbnails and verdicts"},
        ),
    log:
        f"logs/{PRESET}/index.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        figures=figures_of(CONFIG.papers),
        stored=audited_as_stored(CONFIG.papers, "figure.json", "figure.png"),
        source=lambda wildcards: source_digest(("scaling_limits.audit.index",)),
    script:
        "../scripts/index.py"
