import { overviewFor } from './overview.js'

/** Help and version load nothing; everything else runs as a command of this process. */
async function main(): Promise<void> {
  const answer = overviewFor(process.argv.slice(2))
  if (answer !== undefined) {
    process.stdout.write(answer)
    return
  }
  const [{ runCommand }, { pctodl }] = await Promise.all([
    import('@pctodl/command-line'),
    import('./pctodl-command.js'),
  ])
  await runCommand('pctodl', pctodl)
}

main()
