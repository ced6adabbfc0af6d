// Browsers start no worker for a page that is opened from a disk. There, the search runs in a hidden frame.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      frame.answer = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = new Promise((done) => (frame.contentWindow.started = () => done(frame.contentWindow)));
      const page = frame.contentDocument;
      const reply = page.createElement("script");
      reply.textContent = "window.postMessage = (data) => frameElement.answer(data)";
      const work = page.createElement("script");
      work.src = url;
      work.onload = () => frame.contentWindow.started();
      page.head.append(reply, work);
    }

    async postMessage(data) {
      (await this.ready).dispatchEvent(new MessageEvent("message", { data }));
    }
  };
  window.Worker = window.IFrameWorker;
}
