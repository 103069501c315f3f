"""The step as a picture: SVG that needs neither a script nor a font nor the network, in the page and on its own."""
