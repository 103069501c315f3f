"""Parts of the findings' screen: filter, ticks, copies, the title while more evidence is looked for."""
