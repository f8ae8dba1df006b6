"""Topologies: how ranks, devices and links hang together; found on the machine, drawn, written as JSON."""
