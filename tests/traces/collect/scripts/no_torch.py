"""Never imports torch."""

print("hello")
