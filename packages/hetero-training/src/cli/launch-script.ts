import type { ShardCommand } from '../carry-out/shard-command.js'

/** A shell script that starts the processes of a plan, each under its limit for as long as it runs. */
export function launchScript(shards: readonly ShardCommand[]): string {
  const starts = shards.map(({ gpu, device, share, powerLimitW, command, environment }) => {
    const variables = Object.entries(environment).map(([name, value]) => `${name}=${quoted(value)}`)
    const lock = ['pctodl-gpu', 'lock', '--gpu', device, '--limit', String(powerLimitW), '--', ...command]
    return `# ${gpu}: ${share} samples a step, at most ${powerLimitW} W\n${variables.join(' ')} \\\n  ${lock.map(quoted).join(' ')} &`
  })
  return `#!/bin/sh
# The power limits are held by pctodl-gpu (@pctodl/nvml-control) and put back when a process ends.
# Gradients: multiply the mean loss of a process by PCTODL_LOSS_SCALE; its samples of each shuffled global batch are
# PCTODL_BATCH_BEGIN to PCTODL_BATCH_END.
${starts.join('\n')}
wait
`
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
