"""Pictures and small experiments about attention for the lessons and the capstone."""
