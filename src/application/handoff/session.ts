/**
 * A session for another program, independent of its format: turns, and each call with its result. The writer of the
 * program converts it to a file.
 */

import { exactText } from '../../lib/json.js'
import type { Environment } from '../../lib/platform.js'

/** A part of a message that every program can hold. */
export type SessionPart =
  | { readonly kind: 'text'; readonly text: string }
  /** An image, its bytes in base64. */
  | { readonly kind: 'image'; readonly mediaType: string; readonly data: string }

/** The result of a call. */
export interface SessionResult {
  /** ISO 8601. */
  readonly at: string
  readonly parts: readonly SessionPart[]
  /** The call failed, was refused or was stopped. */
  readonly isError: boolean
}

/** A call of a tool that the target program has. */
export interface SessionCall {
  readonly id: string
  readonly name: string
  /** Arguments by name; a text for a tool of Codex that takes free text. */
  readonly input: Readonly<Record<string, unknown>> | string
  readonly result: SessionResult
}

/** A message of the user, or an answer of the model with the results of its calls. */
export type SessionTurn =
  | { readonly role: 'user'; readonly at: string; readonly parts: readonly SessionPart[] }
  | {
      readonly role: 'assistant'
      readonly at: string
      readonly text: string
      readonly model?: string | undefined
      readonly calls: readonly SessionCall[]
    }

/**
 * The turns, each at a time of its own: if two have the same time, the later one gets the next free millisecond. Readers
 * of sessions take an equal record at an equal time for a repeat.
 */
export function atDistinctTimes(turns: readonly SessionTurn[]): SessionTurn[] {
  const times = new Set<number>()
  return turns.map((turn) => {
    const original = Date.parse(turn.at)
    if (Number.isNaN(original)) return turn
    let time = original
    while (times.has(time)) time += 1
    times.add(time)
    return time === original ? turn : { ...turn, at: new Date(time).toISOString() }
  })
}

/** A session to be written. */
export interface Session {
  /** A UUID. */
  readonly id: string
  /** The directory in which the work continues. */
  readonly cwd: string
  readonly title: string | undefined
  /** When the session is written, ISO 8601. */
  readonly at: string
  /** Summary and note of all older messages; undefined if there are no older messages. */
  readonly handover: string | undefined
  /** Number of turns that the context has before the handover. Only Codex keeps messages there. */
  readonly turnsBefore: number
  readonly turns: readonly SessionTurn[]
}

/** A written session. */
export interface WrittenSession {
  /** Path of the file, relative to the directory of the program. */
  readonly path: string
  readonly content: string
  /** The program's own id of the session. */
  readonly sourceId: string
  /** Shell commands that continue the session, `file` is the absolute path of the file. */
  readonly resume: (file: string) => readonly string[]
}

/** The user of a program: environment variables, and the home directory. */
export interface ProgramUser {
  readonly environment: Environment
  readonly home: string
}

/** The directory of a program, read before its session is written. */
export interface ProgramDirectory {
  /** Absolute path. */
  readonly path: string
  /** The user with the settings that apply; undefined if the directory is not that of a user. */
  readonly user?: ProgramUser | undefined
  /** The text of a file in it, or of one with an absolute path; undefined if it is missing. */
  read(path: string): Promise<string | undefined>
  /** Names of the entries of a directory in it; empty if it is missing. */
  list(path: string): Promise<readonly string[]>
}

/** Writes sessions of one program. */
export interface SessionWriter {
  /** The name, as importers use it. */
  readonly program: string
  /** The directory in which the program stores its data, from its environment variables. */
  home(environment: Environment, home: string): string
  /** Returns instructions for the user if the directory lacks something that only the program can create. */
  write(session: Session, directory: ProgramDirectory): Promise<WrittenSession | string>
}

/** Records as lines of JSON. */
export const jsonLines = (records: readonly unknown[]): string =>
  records.map((record) => `${exactText(record) ?? 'null'}\n`).join('')

/** The texts of parts, joined. */
export const textOf = (parts: readonly SessionPart[]): string =>
  parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n')
