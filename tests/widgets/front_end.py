"""A front end in memory: it keeps the models that are open, and does what a person does with them."""

from typing import Any

from comm.base_comm import CommManager


class FrontEnd:
    """`models` are the open ones by their id, as a front end would hold them."""

    def __init__(self) -> None:
        self.manager = CommManager()
        self.models: dict[str, dict[str, Any]] = {}

    def receive(self, kind: str, comm_id: str, data: dict[str, Any]) -> None:
        if kind == "comm_open":
            self.models[comm_id] = data["state"]
        elif kind == "comm_close":
            del self.models[comm_id]
        elif data.get("method") == "update":
            self.models[comm_id] |= data["state"]

    def described(self, text: str) -> str:
        return next(key for key, state in self.models.items() if state.get("description") == text)

    def children(self, model_id: str) -> list[str]:
        return [key.removeprefix("IPY_MODEL_") for key in self.models[model_id]["children"]]

    def click(self, comm_id: str) -> None:
        self._tell(comm_id, {"method": "custom", "content": {"event": "click"}})

    def set(self, comm_id: str, **state: Any) -> None:
        self._tell(comm_id, {"method": "update", "state": state})

    def _tell(self, comm_id: str, data: dict[str, Any]) -> None:
        self.manager.comm_msg(None, b"", {"content": {"comm_id": comm_id, "data": data}, "buffers": []})
