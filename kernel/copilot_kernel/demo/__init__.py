"""The guest: a scripted agent, for demonstrations, notebooks and tests. It is never presented as Copilot."""
