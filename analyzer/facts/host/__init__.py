"""What each thread of the host does when: ops, ranges, calls, stacks, and what lies between them."""
