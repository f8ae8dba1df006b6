"""Steps that several references share; their text becomes part of each reference that uses them."""
