"""Groups."""
def group_of(name: str, role: str) -> str:
    return "x"
def sentence_for(name: str, documentation: str) -> str:
    return documentation.split(".")[0]
