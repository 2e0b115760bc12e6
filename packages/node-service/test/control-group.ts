import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** Where control groups of version 2 are mounted: alone, or beside those of version 1. */
const mounts = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified']

/** Processes, with all that they start, that the kernel ends at once: what Slurm, systemd and container engines do. */
export class ControlGroup {
  readonly #folder: string
  readonly #mount: string

  /** @param name several parts make groups within each other */
  constructor(name: string) {
    const mount = mounts.find(
      (each) => existsSync(path.join(each, 'cgroup.procs')) && existsSync(path.join(each, 'cgroup.controllers')),
    )
    if (!mount) throw new Error('control groups of version 2 are not mounted')
    this.#mount = mount
    this.#folder = path.join(mount, `pctodl-test-${process.pid}-${name}`)
    mkdirSync(this.#folder, { recursive: true })
    if (existsSync(path.join(this.#folder, 'cgroup.kill'))) return
    this.remove()
    throw new Error('the kernel has no cgroup.kill (5.14)')
  }

  /** The words that start a program in it. */
  command(words: readonly string[]): string[] {
    return ['sh', '-c', 'echo 0 > "$1" && shift && exec "$@"', 'sh', path.join(this.#folder, 'cgroup.procs'), ...words]
  }

  /** Nobody is in it, one that is still on its way out included: `cgroup.procs` no longer lists it, and the kernel is still busy with it. */
  get empty(): boolean {
    return readFileSync(path.join(this.#folder, 'cgroup.events'), 'utf8').includes('populated 0')
  }

  kill(): void {
    writeFileSync(path.join(this.#folder, 'cgroup.kill'), '1')
  }

  /** Once it is empty. */
  remove(): void {
    rmdirSync(this.#folder)
    for (let above = path.dirname(this.#folder); above !== this.#mount; above = path.dirname(above)) {
      // Others may be in it.
      if (readdirSync(above, { withFileTypes: true }).some((each) => each.isDirectory())) return
      rmdirSync(above)
    }
  }
}

/** Undefined, or why there are none. */
export const missingControlGroups: string | undefined = (() => {
  try {
    new ControlGroup('probe').remove()
    return undefined
  } catch {
    return 'no control group can be made here'
  }
})()
