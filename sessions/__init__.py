"""What must survive the program: attempts, unsaved text, and their export."""
