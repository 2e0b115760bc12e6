import { createRequire } from 'node:module'

/**
 * Paths of the charts' font, regular and bold. The font comes from an npm package, so that charts do not depend on
 * fonts of the machine.
 */
export function fontFiles(): string[] {
  const require = createRequire(import.meta.url)
  return ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf'].map((file) => require.resolve(`dejavu-fonts-ttf/ttf/${file}`))
}
