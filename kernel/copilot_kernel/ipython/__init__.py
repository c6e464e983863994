"""The door to Python notebooks: `%copilot` and `%%copilot`, in ipykernel and in IPython's terminal."""
