"""Recording a program in which no step shows."""
