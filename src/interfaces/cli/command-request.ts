/** What a command of another process needs to run in a resident reader, and what it printed there. */

/** A stream of the process that asks. */
export interface StreamFeatures {
  readonly isTTY: boolean
  readonly columns: number
}

export interface CommandRequest {
  readonly words: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** The version of Node.js, which determines how texts and numbers are formatted. */
  readonly node: string
  readonly stdout: StreamFeatures
  readonly stderr: StreamFeatures
}

/** The output of a command that succeeded. */
export interface CommandOutput {
  /** Whether the output is for a pager. */
  readonly isPaged: boolean
  /** In the order in which the command wrote them. */
  readonly parts: readonly { readonly to: 'stdout' | 'stderr'; readonly text: string }[]
}
