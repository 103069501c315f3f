"""What tests of displays share: documents made by hand, the app in a test, pages in a browser."""
