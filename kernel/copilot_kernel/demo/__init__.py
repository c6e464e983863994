"""The demo agent: a scripted ACP agent for the tour and for first tries. It is never presented as Copilot."""
