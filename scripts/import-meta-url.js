/** Replaces `import.meta.url` in the CommonJS builds; esbuild removes it from files that do not use it. */
const moduleUrl = () => new URL(`file://${__filename.replace(/[%?#]/g, encodeURIComponent)}`).href

export const importMetaUrl = /* @__PURE__ */ moduleUrl()
