# finds the checks
def _bring_checks(name: str) -> None:
    """Use the checks in the bundle if none are installed, as on Colab and Kaggle."""
    import sys
    import zipfile
    from importlib.metadata import distributions
    from importlib.util import find_spec
    from pathlib import Path

    def found(kind: str, *places: str | Path) -> list[Path]:
        return [path for place in places for path in Path(place).glob(kind)]

    if find_spec("autograder"):
        installed = [known.version for known in distributions(name="attention-autograder")]
        lists = found("requirements.txt", ".", "..")
        asked = lists[0].read_text(encoding="utf-8") if lists else ""
        if "autograder" in asked and not any(f"-{one}-" in asked for one in installed):
            print("The installed checks do not match this folder. In a terminal here, type")
            print("    pip install -r requirements.txt\nand then restart the kernel.")
        return
    added = map(str, Path("/kaggle/input").glob("**/"))
    places = [".", "..", name, "all_assignments", *added]
    if not found("*.whl", *places):
        for bundle in found(f"{name}*.zip", ".") + found("all_assignments*.zip", "."):
            zipfile.ZipFile(bundle).extractall()
    if not (wheels := found("*.whl", *places)):
        own = "On your own computer: choose the kernel in which you installed the exercises."
        raise ImportError(f"Put {name}.zip next to this notebook and run this cell again. {own}")
    newest = max(wheels, key=lambda wheel: wheel.stat().st_mtime).resolve()
    sys.path.append(str(newest))  # an archive that Python can import from
    from autograder.student.bringing import bring

    bring(name, newest)


_bring_checks("$assignment")
