"""Pictures of models and of how good they are, on matplotlib (the extra "plots").

==========================  ==============================================================================
`reliability_diagram`       positive rate against prediction, with intervals and bin masses
`small_multiples`           the same for each class or segment, side by side
`top_label_diagram`         how far predictions of the top label are off: Gupta & Ramdas 2022
`validity_plot`             validity and conditional validity, with the theorem's curve
`step_plot`                 the calibrated probability as a function of the score, with its intervals
`decision_plot`             thresholds that were tested, their bounds, and the bands of a decision
`plan_plot`                 the labels that a plan has and still needs, by bin
`monitor_plot`              the bins of a monitor: what is tolerated, and what outcomes say
`performance_plot`          the metrics of decisions before there are labels, with their intervals
`epsilon_plot`              what n samples and B bins promise: Gupta & Ramdas 2021, Figure 2
`risk_plot`                 Sun, Song & Hero 2023: calibration and sharpness risk against B
==========================  ==============================================================================

Each takes ``ax=``, draws on it, and returns it. Titles are left to the caller. Series differ in colour (Okabe & Ito's
palette), dashes and markers, so they can be told apart in print and by the colour-blind.
"""

from __future__ import annotations

from fastbin.plots.curves import epsilon_plot, risk_plot, step_plot, validity_plot
from fastbin.plots.decisions import decision_plot
from fastbin.plots.monitors import monitor_plot
from fastbin.plots.performance import performance_plot
from fastbin.plots.plans import plan_plot
from fastbin.plots.reliability import reliability_diagram, small_multiples, top_label_diagram

__all__ = [
    "decision_plot",
    "epsilon_plot",
    "monitor_plot",
    "performance_plot",
    "plan_plot",
    "reliability_diagram",
    "risk_plot",
    "small_multiples",
    "step_plot",
    "top_label_diagram",
    "validity_plot",
]
__dir__ = __all__.copy  # completion lists the public names
