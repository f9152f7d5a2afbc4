"""Reference implementations written apart from the package, and the bounds of tests that compare with them."""
