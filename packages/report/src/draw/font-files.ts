import { createRequire } from 'node:module'

/**
 * Paths of the charts' font, regular and bold. They come from an npm package, so charts do not depend on the machine's
 * fonts.
 */
export function fontFiles(): string[] {
  // The CommonJS build has only `__filename`, and the ESM build only `import.meta.url`.
  const require = createRequire(typeof __filename === 'string' ? __filename : import.meta.url)
  return ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf'].map((file) => require.resolve(`dejavu-fonts-ttf/ttf/${file}`))
}
