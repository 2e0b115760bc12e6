/** A text stream: a real standard stream, or a collector in tests. */
export interface TextOutput {
  write(text: string): unknown
  readonly isTTY?: boolean
  /** Width of the terminal in characters; absent if it is not a terminal. */
  readonly columns?: number
}

/** A command's view of its environment. */
export interface Terminal {
  readonly stdout: TextOutput
  readonly stderr: TextOutput
  /** Aborted, with an `Interruption`, when the user interrupts (SIGINT) or the process is told to end (SIGTERM, SIGHUP). */
  readonly signal: AbortSignal
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * A whole command line as a function.
 *
 * @param argv the words after the command's name
 * @returns the exit code: 0 done, 1 failed, 2 usage, 130 interrupted, 143 terminated
 */
export type CommandFunction = (argv: readonly string[], terminal: Terminal) => Promise<number>
