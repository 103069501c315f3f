"""A call in a line of the program's own, with other arguments."""

from __future__ import annotations

import pytest

from rules.own_call import as_diff, with_arguments


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("Adam(p)", "Adam(p, fused=True)"),
        ("opt = make(Adam(p, lr=0.1,), 3)  # Größe (alt)", "opt = make(Adam(p, lr=0.1, fused=True), 3)  # Größe (alt)"),
        ("größe, opt = 'ä', torch.optim.Adam(p)", "größe, opt = 'ä', torch.optim.Adam(p, fused=True)"),
        ("opts = {n: Adam([p]) for n, p in named}", "opts = {n: Adam([p], fused=True) for n, p in named}"),
        ("self.opt = Adam(", None),
        ("opt = kind(p, lr=1)", None),
        ("return Adam(p)", "return Adam(p, fused=True)"),
        ("a, b = Adam(p), Adam(q)", None),
        ("opt = Adam(p, **options)", None),
        ("opt = Adam(p, foreach=True)", None),
        ("opt = Adam(p, capturable=True)", None),
        (r"opt = Adam(p, '\d')", None),
        (f"opt = Adam({'-' * 800}1)", None),
        ("\0", None),
        ("opt = Adam(*groups)", None),
        ("", None),
    ],
)
def test_a_line_gets_an_argument_where_one_call_stands_in_it(text: str, changed: str | None) -> None:
    assert with_arguments(text, "Adam", {"fused": "True"}, ("foreach", "capturable")) == changed


LOADER = {"num_workers": "2", "persistent_workers": "True"}


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (
            "dl = DataLoader(ds, batch_size=4)",
            "dl = DataLoader(ds, batch_size=4, num_workers=2, persistent_workers=True)",
        ),
        (
            "dl = data.DataLoader(ds, 4, True, num_workers=min(8, 'ä'), pin_memory=True)",
            "dl = data.DataLoader(ds, 4, True, num_workers=2, pin_memory=True, persistent_workers=True)",
        ),
        (
            "dl = DataLoader(ds, persistent_workers=False, num_workers=0)",
            "dl = DataLoader(ds, persistent_workers=True, num_workers=2)",
        ),
        ("dl = DataLoader(ds, 4, True, None, None, 0)", None),
        ("for x, y in DataLoader(ds):", "for x, y in DataLoader(ds, num_workers=2, persistent_workers=True):"),
    ],
)
def test_arguments_go_into_the_place_of_those_it_has(text: str, changed: str | None) -> None:
    assert with_arguments(text, "DataLoader", LOADER, most_in_order=5) == changed


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (
            "dl = DataLoader(\n    ds,\n    batch_size=4,\n)",
            " dl = DataLoader(\n     ds,\n     batch_size=4,\n+    num_workers=2,\n+    persistent_workers=True,\n )",
        ),
        (
            "dl = DataLoader(\n    ds,\n    num_workers=0  # später\n)",
            None,
        ),
        (
            "dl = DataLoader(\n    ds, num_workers=0,  # spä\n)",
            " dl = DataLoader(\n-    ds, num_workers=0,  # spä\n+    ds, num_workers=2,  # spä\n+    persistent_workers=True,\n )",
        ),
        (
            "dl = DataLoader(ds,\n    'ä', num_workers=min(\n 1, 0))",
            " dl = DataLoader(ds,\n-    'ä', num_workers=min(\n- 1, 0))\n+    'ä', num_workers=2, persistent_workers=True)",
        ),
        (
            "dl = DataLoader(\n    ds\n)",
            " dl = DataLoader(\n-    ds\n+    ds,\n+    num_workers=2,\n+    persistent_workers=True,\n )",
        ),
        (
            "dl, n = DataLoader(\n), 1",
            " dl, n = DataLoader(\n+num_workers=2,\n+persistent_workers=True,\n ), 1",
        ),
    ],
)
def test_a_call_over_several_lines_keeps_the_others(text: str, changed: str | None) -> None:
    found = with_arguments(text, "DataLoader", LOADER, most_in_order=5)
    assert (None if found is None else as_diff(text, found)) == changed
    if found is not None:
        compile(found, "made", "exec")


def test_nothing_goes_into_a_comment() -> None:
    assert with_arguments("opt = Adam(p  # all\n)", "Adam", {"fused": "True"}) is None
