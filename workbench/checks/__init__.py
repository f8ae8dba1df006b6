"""What the doctor looks at on a machine for GPU ranks."""
