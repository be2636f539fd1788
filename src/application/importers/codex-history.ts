/**
 * The state of a Codex conversation: the live messages, the turns that a rollback counts, and the compactions. It
 * stores only ids and hashes, so that a long conversation needs little memory.
 */
import { isRecord } from '../../lib/is-record.js'
import { contentText } from '../../domain/values/message.js'
import { refusalOf } from './bodies.js'
import { isHandedOn, isSealed, isSilentItem, messageOfItem, unknownItem, type CodexMessage } from './codex-items.js'
import type { ContextEntry, Summary } from './transcript.js'

/** A message of the history. */
export interface HistoryMessage {
  readonly id: string
  readonly key: number
  readonly turnId: string | undefined
  /** A message of the program or the developer that does not begin a turn. */
  readonly isContext: boolean
  readonly opensTurn: boolean
}

/** An entry of the history: a message, or a compaction with the messages that were live before it. */
type Mark = HistoryMessage | { readonly compaction: string; readonly before: readonly HistoryMessage[] }

export interface History {
  /** In the order of the context. */
  live: HistoryMessage[]
  marks: Mark[]
  /** For each turn of the user: the index of its first mark, and the index of its prompt. */
  turns: { readonly start: number; readonly prompt: number }[]
  /** The index at which a turn without a prompt began. */
  turnStart: number | undefined
}

export const emptyHistory = (): History => ({ live: [], marks: [], turns: [], turnStart: undefined })

/** Records the begin of a turn. */
export function beginTurn(history: History): void {
  history.turnStart = history.marks.length
}

/** The begin of a turn without a record for it: the program's messages directly before the prompt. */
function abovePrompt({ marks }: History): number {
  let start = marks.length
  for (; start > 0; start -= 1) {
    const mark = marks[start - 1]
    if (mark === undefined || !('isContext' in mark) || !mark.isContext) break
  }
  return start
}

/** Adds a message. */
export function addMessage(history: History, entry: HistoryMessage): void {
  if (entry.opensTurn) {
    history.turns.push({ start: history.turnStart ?? abovePrompt(history), prompt: history.marks.length })
    history.turnStart = undefined
  }
  history.marks.push(entry)
  history.live.push(entry)
}

/** The messages and compactions that a rollback removes. */
export interface Rollback {
  /** Compactions, newest first. */
  readonly compactions: readonly string[]
  readonly messages: readonly string[]
}

/**
 * Removes the newest turns, with the compactions in them. Messages before the first prompt stay, even if the rollback
 * counts more turns than there are.
 */
export function rollBack(history: History, turns: number): Rollback {
  const first = Math.max(0, history.turns.length - turns)
  const turn = history.turns[first]
  if (turns < 1 || turn === undefined) return { compactions: [], messages: [] }
  const removed = history.marks.splice(first === 0 ? turn.prompt : turn.start)
  history.turns.length = first
  history.turnStart = undefined
  const ids = new Set(removed.flatMap((mark) => ('id' in mark ? [mark.id] : [])))
  const compactions = removed.filter((mark) => 'before' in mark)
  history.live = (compactions[0]?.before ?? history.live).filter(({ id }) => !ids.has(id))
  return { compactions: compactions.map(({ compaction }) => compaction).toReversed(), messages: [...ids] }
}

/** The context after a compaction. */
export interface Compacted {
  readonly context: readonly ContextEntry[]
  readonly summary: Summary
  /** Messages for which the record does not say whether they stayed. */
  readonly unknown: readonly string[]
}

const replaceLive = (history: History, compaction: string, live: HistoryMessage[]): void => {
  history.marks.push({ compaction, before: history.live })
  history.live = live
}

/**
 * Matches the items of a context with live messages. Most items have no id, so the content decides. Among equal
 * messages, one of the same turn is preferred, then the latest.
 */
function matchLive(
  live: readonly HistoryMessage[],
  items: readonly CodexMessage[],
): readonly (HistoryMessage | undefined)[] {
  const byKey = new Map<number, HistoryMessage[]>()
  for (const entry of live) byKey.set(entry.key, [...(byKey.get(entry.key) ?? []), entry])
  const found: (HistoryMessage | undefined)[] = items.map(() => undefined)
  const claim = (isMeant: (entry: HistoryMessage, item: CodexMessage) => boolean): void => {
    for (const [at, item] of [...items.entries()].toReversed()) {
      if (found[at] !== undefined) continue
      const same = byKey.get(item.key) ?? []
      const which = same.findLastIndex((entry) => isMeant(entry, item))
      if (which !== -1) [found[at]] = same.splice(which, 1)
    }
  }
  claim((entry, item) => entry.turnId !== undefined && entry.turnId === item.turnId)
  claim(() => true)
  return found
}

const textOf = ({ body }: CodexMessage): string => contentText(body.content)

/** The index of the summary in a context, or -1. */
function summaryAt(values: readonly unknown[], items: readonly CodexMessage[], message: string): number {
  const byText = message === '' ? -1 : items.findLastIndex((item) => textOf(item).includes(message))
  if (byText !== -1) return byText
  const sealed = values.findLastIndex(isSealed)
  return sealed === -1 ? items.findLastIndex(({ body }) => isHandedOn(body)) : sealed
}

/** A compaction whose record contains the whole context after it. */
export function compactTo(history: History, id: string, replacement: readonly unknown[], message: string): Compacted {
  const values = replacement.filter(
    (value) =>
      isRecord(value) &&
      !isSilentItem(value) &&
      refusalOf((messageOfItem(value) ?? unknownItem(value)).body) === undefined,
  )
  const items = values.flatMap((value) => (isRecord(value) ? [messageOfItem(value) ?? unknownItem(value)] : []))
  const retained = matchLive(history.live, items)
  const at = summaryAt(values, items, message)
  const context = items.map(({ body }, place): ContextEntry => {
    const entry = retained[place]
    if (entry !== undefined) return { kind: 'message', sourceId: entry.id }
    return { kind: 'inserted', body, ...(place === at ? { isSummary: true } : {}) }
  })
  replaceLive(
    history,
    id,
    retained.filter((entry) => entry !== undefined),
  )
  const summaryItem = items[at]
  const summary: Summary =
    message !== ''
      ? { kind: 'text', text: message }
      : summaryItem === undefined
        ? // Some captures omit encrypted items, and an encrypted summary leaves the message empty.
          { kind: 'opaque' }
        : isSealed(values[at])
          ? { kind: 'opaque' }
          : { kind: 'text', text: textOf(summaryItem) }
  return { context, summary, unknown: [] }
}

/**
 * A compaction whose record contains only the summary, as the first versions wrote it. These versions added the
 * beginning of the conversation and the user's last prompts up to a token limit, and truncated the prompt that reached
 * it.
 */
export function compactToSummary(history: History, id: string, message: string, isAllUnknown: boolean): Compacted {
  const firstPrompt = history.live.findIndex(({ opensTurn }) => opensTurn)
  const unknown = history.live.filter(
    ({ opensTurn, isContext }, at) =>
      isAllUnknown || opensTurn || (isContext && (firstPrompt === -1 || at < firstPrompt)),
  )
  replaceLive(history, id, unknown)
  return {
    context: message === '' ? [] : [{ kind: 'inserted', body: { role: 'user', content: message }, isSummary: true }],
    summary: message === '' ? { kind: 'opaque' } : { kind: 'text', text: message },
    unknown: unknown.map(({ id: sourceId }) => sourceId),
  }
}
