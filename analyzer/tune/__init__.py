"""Trying what the findings advise on the user's own script: which changes, in which order, and what each really brings.

What a change does to a script is the collector's (`traces/collect/trace_advisor_hook/trial`); which rule advises which change is
the rule's (`RuleMeta.outside`); here they are tried within their ceilings, held against the noise, and put together.
"""
