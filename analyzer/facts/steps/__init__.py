"""Where each step begins and ends, and which steps figures are made from."""
