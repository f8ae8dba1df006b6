"""What the app does, by subject: runs, the working file, attempts, layout, the external editor, crash reports."""
