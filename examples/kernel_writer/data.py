"""What training and scoring share: the form of a text, and the records."""

import causeway as cw

HEADING = "\n### CUDA\n"
TEMPLATE = "{python_source}\\n### CUDA\\n{cuda_forward}"


def generate(folder, count, levels):
    """A dataset of kernel pairs; a finished or interrupted one in the folder is used again."""
    return cw.pairs.write(folder, count, level=levels, twins=0.0, verify=["run"], verbose=True)


def of_split(records, split):
    return [record for record in records if record["metadata"]["split"] == split]


def prompt(record):
    return record["python_source"] + HEADING
