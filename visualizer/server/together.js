// Begins Streamlit's page (together.py): scripts that came together get addresses of their own, for which an import map
// stands in place of their files.
(async ({ entry, small }) => {
  const folder = new URL("./static/js/", document.baseURI).href;
  const plain = "snoopie: scripts one by one";
  const append = (type, words) => document.head.append(Object.assign(document.createElement("script"), { type }, words));
  try {
    if (sessionStorage.getItem(plain) === null && HTMLScriptElement.supports?.("importmap")) {
      const answer = await fetch(folder + small);
      if (!answer.ok) throw new Error(answer.statusText);
      const imports = {};
      for (const [name, text] of Object.entries(await answer.json())) {
        const script = new Blob([text.replaceAll("\0", folder)], { type: "text/javascript" });
        imports[folder + name] = URL.createObjectURL(script);
      }
      append("importmap", { textContent: JSON.stringify({ imports }) });
    }
  } catch (error) {
    console.warn("Scripts are loaded one by one:", error);
  }
  // Where a browser takes no script from such an address, for whatever stands between it and the server.
  const onerror = () => {
    if (sessionStorage.getItem(plain) !== null) return;
    sessionStorage.setItem(plain, "");
    location.reload();
  };
  append("module", { crossOrigin: "", src: folder + entry, onerror });
})(document.currentScript.dataset);
