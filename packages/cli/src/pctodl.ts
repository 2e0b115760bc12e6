import { overviewFor } from './overview.js'

/** Runs `pctodl`. For help and version no package is loaded; other commands run in this process. */
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
