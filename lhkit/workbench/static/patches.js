// Patches of the parts that come from Python (lhkit/workbench/pane_patches.py): only what changed is sent.

function patched(old, { s, k, t, l }) {
  if (k) return { ...old, ...Object.fromEntries(Object.entries(k).map(([key, patch]) => [key, patched(old[key], patch)])) };
  if (!t && !l) return s;
  const made = [];
  let at = 0;
  for (const [start, end, piece] of t ?? l) {
    made.push(...(t ? [old.slice(at, start), piece] : [...old.slice(at, start), ...piece]));
    at = end;
  }
  made.push(...(t ? [old.slice(at)] : old.slice(at)));
  return t ? made.join("") : made;
}

// Take the parts of a message, unless another view of the same page did; a page that missed one asks for all of them.
function takePatches(model, { from, to, parts }) {
  const revision = model.get("revision");
  if (revision >= to) return;
  if (revision !== from) return model.send({ do: "resend" });
  const values = Object.entries(parts).map(([name, patch]) => [name, patched(model.get(name), patch)]);
  // At once: a pane that is told of one part reads others, and text that was typed would be lost to an old one.
  model.set({ revision: to, ...Object.fromEntries(values) });
}
