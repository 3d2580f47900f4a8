"""What billing calls outside Python: the typesetter."""
