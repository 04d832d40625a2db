"""The methods that the package is compared with."""
