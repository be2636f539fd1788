/** The form in which calls are compared with rules. */
import type { Action } from './actions.js'

/** One step of a call: a part of a command, a change of a file, or the call of another tool. */
export interface CallStep {
  readonly actions: ReadonlySet<Action>
  /** It shows something and changes nothing. */
  readonly reads: boolean
  /** The names on which it acts: words of the command, files, values of arguments. In lower case. */
  readonly names: readonly string[]
  /** The name of a tool that is no shell and no editor, in lower case and with underscores. */
  readonly tool?: string
  /** The words of the command, in lower case; absent for other tools. */
  readonly command?: readonly string[]
  /** The branches that a push names, or those that the results of git name. Only of git commands that act on a branch. */
  readonly branches?: readonly string[]
  /** The files that it changes, or reads. */
  readonly files: readonly string[]
  /** The numbers among its arguments, by their name. */
  readonly amounts: readonly { readonly name: string; readonly value: number }[]
  /** For people. */
  readonly text: string
  /** When it was made, ISO 8601. */
  readonly at?: string
}
