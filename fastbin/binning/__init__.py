"""Estimators whose models are step functions, one file each."""
