# The audit: verdicts of all figures, or of one paper's, as tables; and an exit code.
# `--config audit=stored` judges what is there and reports the rest as missing.

for scope in ["all", *CONFIG.papers]:
    scope_papers = CONFIG.papers if scope == "all" else [scope]
    scope_folder = RESULTS if scope == "all" else f"{RESULTS}/{scope}"

    rule:
        name:
            f"verdicts_{scope}"
        input:
            verdict_files(scope_papers),
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
            # with audit=stored nothing that it reads is an input, so it is made anew each time
            stored=time.time() if CONFIG.main.audit == "stored" else None,
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
