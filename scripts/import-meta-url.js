/** What `import.meta.url` stands for in the CommonJS builds; esbuild drops it from files that do not use it. */
const moduleUrl = () => new URL(`file://${__filename}`).href

export const importMetaUrl = /* @__PURE__ */ moduleUrl()
