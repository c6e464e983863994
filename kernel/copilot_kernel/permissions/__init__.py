"""May it? An answer to a permission request, or the question to put to a person."""
