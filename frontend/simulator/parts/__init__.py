"""The parts of a simulation's form, by what they are about."""
