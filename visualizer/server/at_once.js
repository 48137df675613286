// What the server sends comes in some fifty messages a click, and Streamlit draws all of the page anew whenever ten
// milliseconds have passed since one of them: three or four times. Here those of a run wait for its end, for a moment at
// most, and reach Streamlit together, which then draws once.
(() => {
  const moment = 200; // ms
  const newSession = 4; // ForwardMsg's fields, of which a message has one besides its hash and metadata,
  const scriptFinished = 6;
  const [hash, metadata] = [0x0a, 0x12]; // which come first: how they begin
  const kind = (data) => {
    const bytes = new Uint8Array(data);
    for (let at = 0; at < bytes.length; ) {
      const begin = bytes[at++];
      if (begin !== hash && begin !== metadata) return begin >> 3;
      let length = 0;
      for (let shift = 0; ; shift += 7) {
        length += (bytes[at] & 0x7f) << shift;
        if (!(bytes[at++] & 0x80)) break;
      }
      at += length >>> 0;
    }
  };
  const listen = WebSocket.prototype.addEventListener;
  WebSocket.prototype.addEventListener = function (type, listener, ...options) {
    if (type !== "message") return listen.call(this, type, listener, ...options);
    let running = false;
    let waiting = [];
    let timer;
    const pass = () => {
      clearTimeout(timer);
      const all = waiting;
      waiting = [];
      for (const message of all) listener.call(this, message);
    };
    const hear = (message) => {
      const is = message.data instanceof ArrayBuffer ? kind(message.data) : scriptFinished;
      if (is === newSession) running = true;
      if (is === scriptFinished) running = false;
      waiting.push(message);
      if (!running) pass();
      else if (waiting.length === 1) timer = setTimeout(pass, moment);
    };
    return listen.call(this, type, hear, ...options);
  };
})();
