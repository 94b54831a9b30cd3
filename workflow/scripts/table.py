"""Write a figure that is a table as CSV and LaTeX."""

from pathlib import Path

from scaling_limits.pipeline.scripting import logged
from scaling_limits.plots.figure_folder import FigureFolder
from scaling_limits.plots.table_files import write_tables

with logged(snakemake.log[0]):
    write_tables(FigureFolder.open(Path(snakemake.output.csv).parent))
