/* Browsers start no Worker for a page that was opened from the file system. There the search's worker runs in a hidden
 * frame instead, behind the same three calls; elsewhere nothing is changed. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.title = "search"
      this.frame.srcdoc = "<!doctype html><html lang=en><title>search</title><script>" +
        "window.postMessage = data => parent.dispatchEvent(new MessageEvent('ferry-worker', {data: data}));" +
        "window.importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, fail) => {" +
        "  const s = document.createElement('script'); s.src = url; s.onload = done; s.onerror = fail;" +
        "  document.body.appendChild(s) })), Promise.resolve())" +
        "</script><body><script src='" + url + "'></script></body></html>"
      this.ready = new Promise(done => { this.frame.onload = done })
      window.addEventListener("ferry-worker", event => {
        const answer = new MessageEvent("message", {data: event.data})
        this.dispatchEvent(answer)
        if (this.onmessage) this.onmessage(answer)
      })
      document.body.appendChild(this.frame)
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", {data: data})))
    }
    terminate() {
      this.frame.remove()
    }
  }
}
