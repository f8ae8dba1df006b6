"""The language model as the pair: prompt, feedback, the process that asks providers, the loop around them."""
