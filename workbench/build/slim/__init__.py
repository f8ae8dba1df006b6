"""Small headers in the place of torch's large ones: most CUDA candidates use little of them and compile in seconds."""
