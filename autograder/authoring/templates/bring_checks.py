# finds the checks
def _bring_checks(name: str) -> None:
    """For a kernel that has not installed them, as on Colab and Kaggle: takes the bundle's."""
    import os
    import shutil
    import sys
    import zipfile
    from glob import glob
    from importlib.util import find_spec

    def wheels() -> list[str]:
        places = ("", "../", f"{name}/", "all_assignments/")
        return [os.path.abspath(path) for place in places for path in glob(f"{place}*.whl")]

    if find_spec("autograder"):
        return
    places = ("checks", f"{name}/checks", f"all_assignments/{name}/checks")
    if not any(map(os.path.isdir, places)):
        for bundle in glob(f"{name}*.zip") + glob("all_assignments*.zip"):
            zipfile.ZipFile(bundle).extractall()
        for folder in glob(f"/kaggle/input/**/{name}/", recursive=True):
            shutil.copytree(folder, name, dirs_exist_ok=True)
    own = "On your own computer: choose the kernel in which you installed the exercises."
    if missing := [module for module in ("torch", "pytest", "rich") if not find_spec(module)]:
        raise ImportError(f"This kernel has no {' and no '.join(missing)}. {own}")
    if not wheels():
        raise ImportError(f"Put {name}.zip next to this notebook and run this cell again. {own}")
    # a wheel is an archive that Python can import from
    sys.path.append(max(wheels(), key=os.path.getmtime))


_bring_checks("$assignment")
