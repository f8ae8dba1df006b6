"""One module per problem: its result in float64 from all ranks' arguments, and variants of its own."""
