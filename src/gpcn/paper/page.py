"""What was measured, as a page of Markdown tables and figures."""


def save(folder): ...
