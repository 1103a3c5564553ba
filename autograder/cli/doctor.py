"""Defines the command `doctor`, which examines the machine."""

from __future__ import annotations

from ..escaping import for_terminal
from ..records import Tier
from .output import as_json, command, console, emit


@command()
@as_json
def doctor(as_json: bool) -> int:
    """Show which isolation tier this machine supports, and why other tiers do not work.

    \b
    Example: autograder doctor
    """
    from ..sandbox.doctor import examine_all

    findings = examine_all()
    best = next((finding.tier for finding in findings if finding.works), Tier.NONE)
    if as_json:
        tiers = {f.tier.value: {"works": f.works, "reason": f.reason} for f in findings}
        emit({"tier": best.value, "tiers": tiers})
    else:
        for finding in findings:
            mark = "[green]works[/]" if finding.works else "[red]does not work[/]"
            console.print(
                f"tier {finding.tier}: {mark}: {for_terminal(finding.reason)}", soft_wrap=True
            )
            if not finding.works:
                console.print(finding.remedy.lstrip("\n") or None, soft_wrap=True)
        console.print(
            f"submissions are graded in tier [bold]{best}[/]"
            if best is not Tier.NONE
            else "[bold]nothing can be graded here[/]"
        )
    return 0 if best is not Tier.NONE else 1


COMMANDS = (doctor,)
