// One WebSocket that comes back by itself: for a minute it is tried often, then once a minute.

const AGAIN = 3000; // milliseconds until it is tried again
const MINUTE = 60000;

export class Wire {
  #url; #hear; #socket = null; #timer = 0; #lostAt = 0;

  // hear: { opened(), told(message), lost(everOpened, reason, forLong) }
  constructor(url, hear) { this.#url = url; this.#hear = hear; }

  connect() {
    clearTimeout(this.#timer);
    let opened = false;
    const socket = this.#socket = new WebSocket(this.#url);
    socket.onopen = () => { opened = true; this.#lostAt = 0; this.#hear.opened(); };
    socket.onmessage = ({ data }) => this.#hear.told(JSON.parse(data));
    socket.onclose = ({ reason }) => {
      if (socket !== this.#socket) return;
      this.#lostAt ||= Date.now();
      const forLong = Date.now() - this.#lostAt >= MINUTE;
      this.#hear.lost(opened, reason, forLong);
      this.#timer = setTimeout(() => this.connect(), forLong ? MINUTE : AGAIN);
    };
  }

  // False: there is no connection now.
  send(action) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(action));
    return true;
  }
}
