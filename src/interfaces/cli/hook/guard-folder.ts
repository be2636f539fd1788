/**
 * The rules that the guard compares calls with, in the form in which calls are compared: one file for each conversation
 * whose rules apply to calls on this machine, and one for each rule file. The directory exists only while it has a file,
 * so that installed commands test it before they start Node.js. Like all code of hooks, this module uses only Node.js,
 * and synchronous calls.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Condition } from '../../../domain/rules/read-rule.js'
import type { RuleScope } from '../../../domain/rules/rule.js'
import { isInFolder, withoutCase } from '../../../lib/platform.js'
import { isRecord } from '../../../lib/is-record.js'
import { buildId } from '../../../lib/package-root.js'
import { createFolder, removeIfEmpty, replaceFile } from './hook-folder.js'

/** A rule of the user that calls can be compared with. */
export interface GuardedRule {
  readonly id: string
  readonly text: string
  readonly scope: RuleScope
  /** When it was stated or added, ISO 8601. */
  readonly at?: string | undefined
  readonly conditions: readonly Condition[]
}

/** The rules of a conversation, or of a rule file. */
export interface GuardedRules {
  /** The ledger of the conversation; absent for a rule file. */
  readonly ledger?: string | undefined
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
  readonly folder: string
}

export const guardFolder = (folder: string): string => join(folder, 'guard')

const pathOf = (folder: string, { ledger = '', origin }: Pick<GuardedRules, 'ledger' | 'origin'>): string =>
  join(guardFolder(folder), `${createHash('sha256').update(`${ledger}\0${origin}`).digest('hex').slice(0, 32)}.json`)

/** Replaces the rules of a conversation or of a rule file. Without rules, its file is removed. */
export function writeGuarded(folder: string, guarded: GuardedRules): void {
  const path = pathOf(folder, guarded)
  if (guarded.rules.length === 0 && guarded.version === undefined) {
    // Also what a process wrote that was killed.
    for (const file of filesIn(folder)) if (file.startsWith(path)) rmSync(file, { force: true })
    removeIfEmpty(guardFolder(folder))
    return
  }
  createFolder(guardFolder(folder))
  replaceFile(path, JSON.stringify({ build: buildId(), ...guarded }))
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(guardFolder(folder))
      .toSorted()
      .map((name) => join(guardFolder(folder), name))
  } catch {
    // There are none.
    return []
  }
}

/** Removes the rules of all conversations. */
export const removeGuarded = (folder: string): void => {
  rmSync(guardFolder(folder), { recursive: true, force: true })
}

/** Whether the guard is installed for a program: one that still runs may have loaded its settings before a removal. */
export function hasGuard(folder: string, agent: string): boolean {
  const record: unknown = JSON.parse(readFileSync(join(folder, `${agent}.json`), 'utf8'))
  return isRecord(record) && record['guard'] !== undefined
}

interface Found {
  readonly guarded: GuardedRules
  /** False if another version of this program wrote them. */
  readonly isCurrent: boolean
  readonly path: string
  readonly text: string
}

const isRule = (rule: unknown): boolean =>
  isRecord(rule) && typeof rule['text'] === 'string' && Array.isArray(rule['conditions'])

/** The rules in a file; undefined if it was removed, or is no file of ours: the agent goes on without it. */
function guardedIn(path: string): Found | undefined {
  try {
    const text = readFileSync(path, 'utf8')
    const value: unknown = JSON.parse(text)
    if (!isRecord(value)) return undefined
    const { build, ...guarded } = value
    const rules: unknown = guarded['rules']
    if (!Array.isArray(rules) || !rules.every(isRule)) return undefined
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- this program wrote it
    return { guarded: guarded as unknown as GuardedRules, isCurrent: build === buildId(), path, text }
  } catch {
    return undefined
  }
}

/** The rules of a rule file; undefined if they must be read from it. */
export function rulesOfGuardedFile(folder: string, path: string, version: string): readonly GuardedRule[] | undefined {
  const found = guardedIn(pathOf(folder, { origin: path }))
  return found?.isCurrent === true && found.guarded.version === version ? found.guarded.rules : undefined
}

/** The rules of all conversations. */
const rulesOfConversations = (folder: string): readonly Found[] =>
  filesIn(folder).flatMap((path) => {
    const found = path.endsWith('.json') ? guardedIn(path) : undefined
    return found === undefined || found.guarded.version !== undefined ? [] : [found]
  })

/** The conversations of a ledger that have rules here. */
export const guardedConversations = (folder: string, ledger: string): readonly string[] =>
  rulesOfConversations(folder).flatMap(({ guarded }) => (guarded.ledger === ledger ? [guarded.origin] : []))

/** A folder without links, to compare it. */
function realFolder(path: string): string {
  let real = resolve(path)
  try {
    real = realpathSync.native(path)
  } catch {
    // It does not exist any more, or not on this machine.
  }
  return withoutCase(real)
}

function appliesTo(scope: RuleScope, { origin, project }: GuardedRules, session: GuardedSession): boolean {
  const { conversationId, folder } = session
  if (scope === 'everywhere' || origin === conversationId) return true
  return scope === 'project' && project !== undefined && isInFolder(realFolder(folder), realFolder(project))
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
  for (const each of rulesOfConversations(folder)) {
    const guarded = each.isCurrent ? each.guarded : await renew(each.guarded)
    if (!each.isCurrent) keepRenewed(folder, each, guarded)
    found.push(...guarded.rules.filter(({ scope }) => appliesTo(scope, guarded, session)))
  }
  return found
}

/** Writes renewed rules, unless they were changed or removed meanwhile, or the disk is full. */
function keepRenewed(folder: string, { path, text }: Found, renewed: GuardedRules): void {
  try {
    if (readFileSync(path, 'utf8') === text) writeGuarded(folder, renewed)
  } catch {
    // The next call renews them.
  }
}
