// The search of this site runs in a Worker. A page that was opened from a file may not start one, so there its script
// runs in a hidden frame. (MkDocs Material would load something like this from the network.)
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = `<script src="${url}"></scr` + "ipt>";
      this.inside = new Promise((resolve) => {
        frame.addEventListener("load", () => {
          const inside = frame.contentWindow;
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
          inside.importScripts = (...scripts) => Promise.all(scripts.map((src) => new Promise((loaded) => {
            const script = inside.document.createElement("script");
            Object.assign(script, {src, async: false, onload: loaded, onerror: loaded});
            inside.document.head.append(script);
          })));
          resolve(inside);
        }, {once: true});
      });
      const attach = () => document.body.append(frame);
      if (document.body) attach();
      else document.addEventListener("DOMContentLoaded", attach);
    }
    postMessage(data) {
      this.inside.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", {data})));
    }
    terminate() {}
  };
}
