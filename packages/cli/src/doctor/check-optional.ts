import { absent, type Finding, ok } from './finding.js'
import { firstLineOf } from './first-line-of.js'

const browsers = ['chromium', 'chromium-browser', 'google-chrome']

/** Checks for a browser. The page that `pctodl bench report` writes works in any browser; its tests use Chromium. */
export async function checkBrowser(signal: AbortSignal): Promise<Finding> {
  for (const browser of browsers) {
    const answer = await firstLineOf(browser, ['--version'], signal)
    if (answer.kind === 'answered') return ok('browser', answer.line)
  }
  return absent(
    'browser',
    `none of ${browsers.join(', ')}`,
    'optional: report pages open in any browser, also elsewhere',
  )
}

/** Checks for Slurm's client programs, which `pctodl bench --executor slurm` needs. */
export async function checkSlurm(signal: AbortSignal): Promise<Finding> {
  const answer = await firstLineOf('sbatch', ['--version'], signal)
  if (answer.kind === 'answered') return ok('Slurm', answer.line)
  return absent(
    'Slurm',
    answer.kind === 'failed' ? `installed, without a cluster: ${answer.reason}` : 'no sbatch on PATH',
    'optional: `pctodl bench --executor slurm` needs it; without, `--jobs` spreads work over the cores of this machine',
  )
}
