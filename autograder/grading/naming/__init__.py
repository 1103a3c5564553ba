"""Which known mistake explains a wrong answer."""
