# SPDX-License-Identifier: GPL-2.0-or-later
"""Images of the lab that are not the usual ones."""
from __future__ import annotations


def test_an_image_without_a_stamp_says_nothing_of_itself(lab):
    cluster = lab(plain=True, nodes=1, images={"v1": True, "bare": False}, image="bare")
    assert cluster.boots("n1")[-1]["stamp"] == ""
    assert cluster.boots("n1")[-1]["content"] == "bare"
    assert "PRETTY_NAME" in cluster.machines["n1"].run(["cat", "/etc/os-release"]).stdout
