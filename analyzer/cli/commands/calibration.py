"""`advisor calibration`: how good each rule's promises were, where they were measured."""

from __future__ import annotations

import click

from analyzer.units import share


@click.command("calibration", short_help="Show how good each rule's promises were, where they were measured.")
@click.option("--forget", is_flag=True, help="Delete the pairs of this machine.")
def command(forget: bool) -> None:
    """Show for each rule how much of what it promised was measured.

    A pair is one finding with the saving it promised and the saving that a run with its fix brought. The table counts the pairs
    of a rule, says how many brought no more than was promised (noise apart), and gives the median share of the promise that
    came true.

    Some pairs ship with the package: they are from `advisor zoo`. Those of this machine are kept by `advisor tune --remember`
    and `advisor compare --remember` only, in one file, and never leave it.
    """
    from analyzer.calibration.pairs import records
    from analyzer.calibration.store import own, own_file, shipped
    from analyzer.page.words import safe

    if forget:
        there = own_file().exists()
        own_file().unlink(missing_ok=True)
        click.echo(f"advisor: {own_file()} is gone" if there else "advisor: no pair of this machine was kept", err=True)
    mine = tuple(own())
    pairs = (*shipped(), *mine)
    click.echo("rule   pairs  within what was promised  realised of it, median")
    for one in records(pairs):
        rule = safe.name(one.rule, 20)
        click.echo(
            f"{rule}  {one.pairs:>5}  {one.within:>3} of {one.pairs:<3}                {share(one.reached_ratio):>7}"
        )
    zoo = len(pairs) - len(mine)
    click.echo(
        f"{zoo} pairs of the zoo (2 cores, no GPU: traces/README.md), {len(mine)} of this machine ({own_file()})"
    )
