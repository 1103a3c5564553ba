"""The subject of this course: softmax, heads, dropout. Only content imports it."""
