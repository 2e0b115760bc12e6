import type { ShardCommand } from '../carry-out/shard-command.js'
import { settingText } from '../profile/setting.js'

/**
 * A shell script that starts the processes of a plan, each under its limit for as long as it runs. It ends when all have ended; where one
 * fails the others are ended, since they would wait for its gradients for ever, and the script ends with the exit code of the first.
 */
export function launchScript(shards: readonly ShardCommand[]): string {
  const starts = shards.map(({ gpu, device, share, powerLimitW, smClockMhz, command, environment }) => {
    const variables = Object.entries(environment).map(([name, value]) => `${name}=${quoted(value)}`)
    const clock = smClockMhz === null ? [] : ['--sm', String(smClockMhz)]
    const lock = ['pctodl-gpu', 'lock', '--gpu', device, '--limit', String(powerLimitW), ...clock, '--', ...command]
    const named = gpu.replaceAll(/\s+/g, ' ')
    return `# ${named}: ${share} samples a step, ${settingText({ powerLimitW, smClockMhz })}\nstart ${quoted(named)} env ${variables.join(' ')} \\\n  ${lock.map(quoted).join(' ')}`
  })
  return `#!/bin/sh
# Power limits and clocks are held by pctodl-gpu (@pctodl/nvml-control) and put back when a process ends.
# Gradients: multiply the mean loss of a process by PCTODL_LOSS_SCALE; its samples of each shuffled global batch are
# PCTODL_BATCH_BEGIN to PCTODL_BATCH_END.

# Who ends writes its exit code and its name into a pipe.
folder=$(mktemp -d) || exit 1
mkfifo "$folder/ends" || exit 1
exec 3<>"$folder/ends"
rm -r "$folder"
started=
status=0

start() { # name, command...
  (
    name=$1
    shift
    "$@" 3>&- &
    pid=$!
    trap 'kill "$pid" 2>/dev/null' TERM
    wait "$pid"
    ended=$?
    # A signal ends the waiting before it ends the process.
    while kill -0 "$pid" 2>/dev/null; do
      wait "$pid"
      ended=$?
    done
    echo "$ended $name" >&3
  ) &
  started="$started $!"
}

end_all() { # exit code
  [ "$status" -ne 0 ] || status=$1
  # shellcheck disable=SC2086 # several pids
  kill $started 2>/dev/null
}
trap 'end_all 130' INT
trap 'end_all 143' TERM

${starts.join('\n')}

left=${shards.length}
while [ "$left" -gt 0 ]; do
  read -r ended name <&3 || continue
  left=$((left - 1))
  if [ "$ended" -ne 0 ] && [ "$status" -eq 0 ]; then
    echo "$name ended with exit code $ended; the others are ended" >&2
    end_all "$ended"
  fi
done
wait
exit "$status"
`
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
