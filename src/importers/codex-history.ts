/**
 * What a Codex conversation holds at a moment: the messages that are live, the turns that a rollback counts, and the
 * compactions. Only ids and hashes are kept, so that a long conversation needs little.
 */
import { contentText } from '../domain/values/message.js'
import { isFields, refusalOf } from './bodies.js'
import { isHandedOn, isSealed, isSilentItem, messageOfItem, unknownItem, type CodexMessage } from './codex-items.js'
import type { ContextEntry, Summary } from './transcript.js'

/** A message that was said. */
export interface Said {
  readonly id: string
  readonly key: number
  readonly turnId: string | undefined
  /** The program or its developer said it, and no turn begins with it. */
  readonly isBeside: boolean
  readonly opensTurn: boolean
}

/** A place in what happened: a message, or a compaction with what was live before it. */
type Mark = Said | { readonly compaction: string; readonly before: readonly Said[] }

export interface History {
  /** In the order of the context. */
  live: Said[]
  marks: Mark[]
  /** Where each turn of the user begins among the marks, and where its prompt stands. */
  turns: { readonly start: number; readonly prompt: number }[]
  /** Where the turn began that has no prompt yet. */
  begun: number | undefined
}

export const emptyHistory = (): History => ({ live: [], marks: [], turns: [], begun: undefined })

/** A record says that a turn begins. */
export function beginTurn(history: History): void {
  history.begun = history.marks.length
}

/** Where a turn begins that no record opened: with what the program said just above the prompt. */
function abovePrompt({ marks }: History): number {
  let start = marks.length
  for (; start > 0; start -= 1) {
    const mark = marks[start - 1]
    if (mark === undefined || !('isBeside' in mark) || !mark.isBeside) break
  }
  return start
}

/** A message was said. */
export function say(history: History, said: Said): void {
  if (said.opensTurn) {
    history.turns.push({ start: history.begun ?? abovePrompt(history), prompt: history.marks.length })
    history.begun = undefined
  }
  history.marks.push(said)
  history.live.push(said)
}

/** What a rollback takes back. */
export interface TakenBack {
  /** Compactions, newest first. */
  readonly compactions: readonly string[]
  readonly messages: readonly string[]
}

/**
 * The newest turns are taken back, with the compactions in them. What stood before the first prompt stays, however many
 * turns a rollback counts.
 */
export function rollBack(history: History, turns: number): TakenBack {
  const first = Math.max(0, history.turns.length - turns)
  const turn = history.turns[first]
  if (turns < 1 || turn === undefined) return { compactions: [], messages: [] }
  const gone = history.marks.splice(first === 0 ? turn.prompt : turn.start)
  history.turns.length = first
  history.begun = undefined
  const ids = new Set(gone.flatMap((mark) => ('id' in mark ? [mark.id] : [])))
  const compactions = gone.filter((mark) => 'before' in mark)
  history.live = (compactions[0]?.before ?? history.live).filter(({ id }) => !ids.has(id))
  return { compactions: compactions.map(({ compaction }) => compaction).toReversed(), messages: [...ids] }
}

/** The context behind a compaction. */
export interface Compacted {
  readonly context: readonly ContextEntry[]
  readonly summary: Summary
  /** Messages of which the record does not tell whether they stayed. */
  readonly unknown: readonly string[]
}

const replaceLive = (history: History, compaction: string, live: Said[]): void => {
  history.marks.push({ compaction, before: history.live })
  history.live = live
}

/**
 * Which live messages the items of a context are. An item has an id only now and then, so the content decides; of equal
 * ones the message of the same turn is meant, and else the latest.
 */
function matched(live: readonly Said[], items: readonly CodexMessage[]): readonly (Said | undefined)[] {
  const byKey = new Map<number, Said[]>()
  for (const said of live) byKey.set(said.key, [...(byKey.get(said.key) ?? []), said])
  const found: (Said | undefined)[] = items.map(() => undefined)
  const claim = (isMeant: (said: Said, item: CodexMessage) => boolean): void => {
    for (const [at, item] of [...items.entries()].toReversed()) {
      if (found[at] !== undefined) continue
      const same = byKey.get(item.key) ?? []
      const which = same.findLastIndex((said) => isMeant(said, item))
      if (which !== -1) [found[at]] = same.splice(which, 1)
    }
  }
  claim((said, item) => said.turnId !== undefined && said.turnId === item.turnId)
  claim(() => true)
  return found
}

const textOf = ({ body }: CodexMessage): string => contentText(body.content)

/** Which item of a context is the summary: its place, or -1. */
function summaryAt(values: readonly unknown[], items: readonly CodexMessage[], message: string): number {
  const told = message === '' ? -1 : items.findLastIndex((item) => textOf(item).includes(message))
  if (told !== -1) return told
  const sealed = values.findLastIndex(isSealed)
  return sealed === -1 ? items.findLastIndex(({ body }) => isHandedOn(body)) : sealed
}

/** A compaction whose record holds the whole context behind it. */
export function compactTo(history: History, id: string, replacement: readonly unknown[], message: string): Compacted {
  const values = replacement.filter(
    (value) =>
      isFields(value) &&
      !isSilentItem(value) &&
      refusalOf((messageOfItem(value) ?? unknownItem(value)).body) === undefined,
  )
  const items = values.flatMap((value) => (isFields(value) ? [messageOfItem(value) ?? unknownItem(value)] : []))
  const kept = matched(history.live, items)
  const at = summaryAt(values, items, message)
  const context = items.map(({ body }, place): ContextEntry => {
    const said = kept[place]
    if (said !== undefined) return { kind: 'message', sourceId: said.id }
    return { kind: 'inserted', body, ...(place === at ? { isSummary: true } : {}) }
  })
  replaceLive(
    history,
    id,
    kept.filter((said) => said !== undefined),
  )
  const handedOn = items[at]
  const summary: Summary =
    message !== ''
      ? { kind: 'text', text: message }
      : handedOn === undefined
        ? { kind: 'none' }
        : isSealed(values[at])
          ? { kind: 'opaque' }
          : { kind: 'text', text: textOf(handedOn) }
  return { context, summary, unknown: [] }
}

/**
 * A compaction whose record holds the summary alone, as the first versions wrote it. They put the conversation's
 * beginning and the last prompts of the user beside it, up to a limit in tokens, and cut the one that reached it.
 */
export function compactToSummary(history: History, id: string, message: string, isAllUnknown: boolean): Compacted {
  const firstPrompt = history.live.findIndex(({ opensTurn }) => opensTurn)
  const unknown = history.live.filter(
    ({ opensTurn, isBeside }, at) =>
      isAllUnknown || opensTurn || (isBeside && (firstPrompt === -1 || at < firstPrompt)),
  )
  replaceLive(history, id, unknown)
  return {
    context: message === '' ? [] : [{ kind: 'inserted', body: { role: 'user', content: message }, isSummary: true }],
    summary: message === '' ? { kind: 'none' } : { kind: 'text', text: message },
    unknown: unknown.map(({ id: sourceId }) => sourceId),
  }
}
