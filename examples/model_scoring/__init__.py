"""Scores of visits by a model that is trained in the example."""
