// Summaries of search results in a site that was opened from a file. There, a browser refuses the
// requests with which Sphinx reads the pages that it has found; `pages.js` contains their text.
if (window.location.protocol === "file:") {
  const root = new URL("..", document.currentScript.src).href;
  const request = window.fetch;
  const pages = new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = `${root}_static/pages.js`;
    script.onload = () => resolve(window.PAGES);
    script.onerror = () => resolve({});
    document.head.append(script);
  });
  window.fetch = async (address, options) => {
    const url = new URL(address, window.location.href).href;
    const page = (await pages)[decodeURIComponent(url.slice(root.length))];
    return page === undefined ? request(address, options) : { text: async () => page };
  };
}
