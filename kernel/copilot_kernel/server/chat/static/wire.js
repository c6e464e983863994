// One WebSocket that comes back by itself.

const AGAIN = 3000; // milliseconds until it is tried again

export class Wire {
  #url; #hear; #socket = null; #timer = 0;

  // hear: { opened(), told(message), lost(everOpened, reason) }
  constructor(url, hear) { this.#url = url; this.#hear = hear; }

  connect() {
    clearTimeout(this.#timer);
    let opened = false;
    const socket = this.#socket = new WebSocket(this.#url);
    socket.onopen = () => { opened = true; this.#hear.opened(); };
    socket.onmessage = ({ data }) => this.#hear.told(JSON.parse(data));
    socket.onclose = ({ reason }) => {
      if (socket !== this.#socket) return;
      this.#hear.lost(opened, reason);
      this.#timer = setTimeout(() => this.connect(), AGAIN);
    };
  }

  // False: there is no connection now.
  send(action) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(action));
    return true;
  }
}
