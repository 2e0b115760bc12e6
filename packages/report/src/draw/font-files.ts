import { createRequire } from 'node:module'

/** Regular and bold of the font that charts are set in, from the package of that name: no machine's own fonts. */
export function fontFiles(): string[] {
  // The CommonJS build has `__filename` and no `import.meta.url`, the ESM build the other way round.
  const require = createRequire(typeof __filename === 'string' ? __filename : import.meta.url)
  return ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf'].map((file) => require.resolve(`dejavu-fonts-ttf/ttf/${file}`))
}
