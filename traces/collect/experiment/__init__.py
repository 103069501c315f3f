"""The comparison of remedies on the reference loop: each timed without the profiler, each with a trace of its own."""

from traces.collect.experiment.methods import METHODS, Method, Setup
from traces.collect.experiment.result import MethodResult, Skipped
from traces.collect.experiment.run import ExperimentConfig, run_experiment

__all__ = ["METHODS", "ExperimentConfig", "Method", "MethodResult", "Setup", "Skipped", "run_experiment"]
