"""The subject of this course: what knows of softmax, heads and dropout. Only content imports it."""
