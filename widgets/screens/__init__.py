"""Screens that cover the panes for a moment: questions, help, an earlier attempt. Imported when first shown."""
