/**
 * The rules that the guard compares calls with, in the form in which calls are compared: one file for each conversation
 * whose rules apply to calls on this machine, and one for each rule file. The directory exists only while it has a file,
 * so that installed commands test it before they start Node.js. Like all code of hooks, this module uses only Node.js,
 * and synchronous calls.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Condition } from '../../../domain/rules/read-rule.js'
import type { RuleScope } from '../../../domain/rules/rule.js'
import { isInFolder } from '../../../lib/is-in-folder.js'
import { isRecord } from '../../../lib/is-record.js'
import { buildId } from '../../../lib/package-root.js'
import { createFolder, removeIfEmpty, replaceFile } from './hook-folder.js'

/** A rule of the user that calls can be compared with. */
export interface GuardedRule {
  readonly id: string
  readonly text: string
  readonly scope: RuleScope
  readonly conditions: readonly Condition[]
}

/** The rules of a conversation, or of a rule file. */
export interface GuardedRules {
  /** The conversation, or the path of the file. */
  readonly origin: string
  /** The project folder of the conversation. */
  readonly project?: string | undefined
  /** The state of the rule file from which they were read. */
  readonly version?: string | undefined
  readonly rules: readonly GuardedRule[]
}

/** A session of an agent that calls a tool. */
export interface GuardedSession {
  readonly conversationId: string
  /** The folder in which it works. */
  readonly folder: string | undefined
}

export const guardFolder = (folder: string): string => join(folder, 'guard')

const pathOf = (folder: string, origin: string): string =>
  join(guardFolder(folder), `${createHash('sha256').update(origin).digest('hex').slice(0, 32)}.json`)

/** Replaces the rules of a conversation or of a rule file. Without rules, its file is removed. */
export function writeGuarded(folder: string, guarded: GuardedRules): void {
  if (guarded.rules.length === 0 && guarded.version === undefined) {
    rmSync(pathOf(folder, guarded.origin), { force: true })
    removeIfEmpty(guardFolder(folder))
    return
  }
  createFolder(guardFolder(folder))
  replaceFile(pathOf(folder, guarded.origin), JSON.stringify({ build: buildId(), ...guarded }))
}

/** Removes the rules of all conversations. */
export const removeGuarded = (folder: string): void => {
  rmSync(guardFolder(folder), { recursive: true, force: true })
}

/** The rules in a file. `isCurrent` is false if another version of this program wrote it. */
function guardedIn(path: string): { readonly guarded: GuardedRules; readonly isCurrent: boolean } | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (!isRecord(value)) return undefined
    const { build, ...guarded } = value
    // This program wrote it, whole.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return { guarded: guarded as unknown as GuardedRules, isCurrent: build === buildId() }
  } catch {
    // It was removed, or is no file of ours: the agent goes on without it.
    return undefined
  }
}

/** The rules of a rule file; undefined if they must be read from it. */
export function rulesOfGuardedFile(folder: string, path: string, version: string): readonly GuardedRule[] | undefined {
  const found = guardedIn(pathOf(folder, path))
  return found?.isCurrent === true && found.guarded.version === version ? found.guarded.rules : undefined
}

/** The rules of all conversations. */
function* rulesOfConversations(folder: string): Iterable<NonNullable<ReturnType<typeof guardedIn>>> {
  let names: string[] = []
  try {
    names = readdirSync(guardFolder(folder))
  } catch {
    // There are none.
  }
  for (const name of names.toSorted()) {
    const found = name.endsWith('.json') ? guardedIn(join(guardFolder(folder), name)) : undefined
    if (found !== undefined && found.guarded.version === undefined) yield found
  }
}

/** The conversations that have rules here. */
export const guardedConversations = (folder: string): readonly string[] =>
  [...rulesOfConversations(folder)].map(({ guarded }) => guarded.origin)

function appliesTo(scope: RuleScope, { origin, project }: GuardedRules, session: GuardedSession): boolean {
  const { conversationId, folder } = session
  if (scope === 'everywhere' || origin === conversationId) return true
  return scope === 'project' && project !== undefined && folder !== undefined && isInFolder(folder, project)
}

/**
 * The rules of conversations for the calls of a session.
 * @param renew reads the conditions of rules again that another version of this program read
 */
export async function rulesFor(
  folder: string,
  session: GuardedSession,
  renew: (guarded: GuardedRules) => Promise<GuardedRules>,
): Promise<readonly GuardedRule[]> {
  const found: GuardedRule[] = []
  for (const { guarded, isCurrent } of rulesOfConversations(folder)) {
    const { rules } = isCurrent ? guarded : await renew(guarded)
    found.push(...rules.filter(({ scope }) => appliesTo(scope, guarded, session)))
  }
  return found
}
