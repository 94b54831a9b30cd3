# The audit: tables of the verdicts of all figures or of one paper, an exit code, and a page with figures and verdicts.
# The tables contain the verdicts in the figures' folders. The rule `audit` does not rely on them: it judges the records
# again. `--config audit=stored` judges existing records, and fails if a figure has none unless `allow_missing=true`.

for scope in ["all", *CONFIG.papers]:
    scope_papers = CONFIG.papers if scope == "all" else [scope]
    scope_folder = RESULTS if scope == "all" else f"{RESULTS}/{scope}"

    rule:
        name:
            f"verdicts_{scope}"
        input:
            audited(scope_papers, *COLLECTED),
        output:
            json=f"{scope_folder}/audit.json",
            xml=f"{scope_folder}/audit.xml",
            md=f"{scope_folder}/audit.md",
        log:
            f"logs/{PRESET}/verdicts-{scope}.log",
        localrule: True
        conda:
            "../../envs/cpu.yaml"
        params:
            figures=figures_of(scope_papers),
            stored=audited_as_stored(scope_papers, *COLLECTED),
        script:
            "../scripts/verdicts.py"

    rule:
        name:
            "audit" if scope == "all" else f"audit/{scope}"
        input:
            json=f"{scope_folder}/audit.json",
            deviations="docs/deviations.yaml",
            amendments="docs/amendments.yaml",
            lock="docs/claims.lock.yaml",
            reference="tests/reference/decided.yaml",
        log:
            f"logs/{PRESET}/audit-{scope}.log",
        localrule: True
        conda:
            "../../envs/cpu.yaml"
        params:
            figures=figures_of(scope_papers),
            # the reference fraction of decided claims is defined for all papers together
            whole=scope == "all" and not CONFIG.main.allow_missing,
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
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        figures=figures_of(CONFIG.papers),
        stored=audited_as_stored(CONFIG.papers, "figure.json", "figure.png"),
        source=lambda wildcards: source_digest(("scaling_limits.audit.index",)),
    script:
        "../scripts/index.py"
