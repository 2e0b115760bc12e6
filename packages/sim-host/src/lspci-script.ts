import type { BoardIdentity } from './board-file-layout.js'

/**
 * Returns a shell script that runs the machine's own `lspci`, if any, and then lists the simulated boards. Some
 * monitors query `nvidia-smi` only if they find a graphics controller on the PCI bus.
 */
export function lspciScript(boards: readonly BoardIdentity[], path: string): string {
  const entries = boards.map((board) => {
    const slot = board.busId.slice(9).toLowerCase()
    const kind = board.fanCount > 0 ? 'VGA compatible controller' : '3D controller'
    const device = (board.pciDeviceId >>> 16).toString(16).padStart(4, '0')
    const model = board.name.replace(/^NVIDIA /, '')
    return {
      brief: `${slot} ${kind}: NVIDIA Corporation ${model} (rev a1)`,
      details: `\tSubsystem: NVIDIA Corporation Device ${device}\n\tKernel driver in use: nvidia\n\tKernel modules: nvidia\n`,
    }
  })
  const brief = entries.map((entry) => `${entry.brief}\n`).join('')
  const verbose = entries.map((entry) => `${entry.brief}\n${entry.details}\n`).join('')
  return [
    '#!/bin/sh',
    `real=$(PATH='${path.replaceAll("'", "'\\''")}' command -v lspci) && "$real" "$@"`,
    'case "$*" in',
    `'') cat <<'EOF'\n${brief}EOF\n;;`,
    `-v|-vv|-vvv|-k) cat <<'EOF'\n${verbose}EOF\n;;`,
    // Other options need the machine's own lspci.
    '*) [ -n "$real" ] ;;',
    'esac',
    '',
  ].join('\n')
}
