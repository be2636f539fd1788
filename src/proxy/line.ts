/**
 * A conversation as the client's lists have it: which message stands where, known by hash and by the id that it is
 * recorded under. Held against the list of the next request it says what that request is: the conversation goes on, is
 * asked again, was taken back, began anew behind a compaction of the client's own, or is not meant at all.
 */
import { createHash } from 'node:crypto'
import { recordable } from '../domain/text/json.js'
import { textIn, type Asked, type Said } from './api.js'
import { jsonText } from './json.js'

/** A message of the list. */
export interface Entry {
  /** What it is recorded under; undefined for a text that stands in the place of what was compacted. */
  readonly id: string | undefined
  readonly hash: string
  readonly role: string
  readonly callId: string | undefined
}

/** What was answered. */
interface Spoken {
  readonly text: string
  /** What it is recorded under; undefined for an answer of a side call. */
  readonly id: string | undefined
}

/** The list, as far as it is recorded. */
export interface Line {
  readonly conversationId: string
  /** Who makes the context: nobody yet, the client's program, or the ledger. */
  maker: 'nobody' | 'program' | 'ledger'
  instructions: readonly Entry[]
  entries: Entry[]
  /** Hash of the tools that the last request of the conversation offered; empty where there were none. */
  tools: string
  /** The last answers, of side calls too: a summary that stands in a later list is one of them. */
  readonly texts: Spoken[]
  /** The last answer, where it came to its end and calls nothing: a program may ask on without showing it. */
  concluded: string | undefined
  /** Told apart from what was recorded before a rewind, ids of the same messages are others. */
  salt: string
}

export const newLine = (conversationId: string): Line => ({
  conversationId,
  maker: 'nobody',
  instructions: [],
  entries: [],
  tools: '',
  texts: [],
  concluded: undefined,
  salt: '',
})

/** What a request is to a conversation. */
export type Step =
  /** The list goes on from what is recorded; `edits` are results that the client shows otherwise by now. */
  | { readonly kind: 'goes-on'; readonly from: number; readonly edits: readonly number[] }
  /** The list was asked before, and what is recorded goes further. */
  | { readonly kind: 'again' }
  /** What is recorded from `from` on is said no more. */
  | { readonly kind: 'rewinds'; readonly from: number }
  /** The list begins anew: `kept` are the places in the list of what stays, with the places in the line. */
  | {
      readonly kind: 'anew'
      readonly kept: ReadonlyMap<number, number>
      readonly summaryAt: number | undefined
      /** What the answer is recorded under that the summary was. */
      readonly answerId?: string | undefined
    }
  /** A title, a count, another errand. */
  | { readonly kind: 'side' }

/** Texts shorter than this are said by chance. */
const TELLING_CHARACTERS = 80
/** Answers whose texts are kept, to be known again in a summary. */
const MOST_TEXTS = 4

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 24)

/** The hash of the tools that a request offers. */
export const toolsHash = (tools: readonly unknown[]): string =>
  tools.length === 0 ? '' : digest(jsonText(recordable(tools)))

/** Keeps what was answered, to be known again in a summary. */
export function rememberText(line: Line, text: string, id: string | undefined): void {
  if (text.length < TELLING_CHARACTERS) return
  line.texts.push({ text, id })
  if (line.texts.length > MOST_TEXTS) line.texts.shift()
}

/**
 * The salt behind a change that takes something back: messages that are said again get other ids. However often that
 * happens, it stays as long as one hash.
 */
export const saltBehind = ({ salt, entries }: Line, change: 'again' | 'anew'): string =>
  digest(`${salt}\n${change}\n${String(entries.length)}`)

/** The id of a message that stands behind another one. */
export const idBehind = (line: Line, before: string | undefined, hash: string): string =>
  `p-${digest(`${line.salt}\n${before ?? ''}\n${hash}`)}`

/** The entry of a message that is recorded under an id. */
export const entryOf = ({ input, hash }: Said, id: string | undefined): Entry => ({
  id,
  hash,
  role: input.role,
  callId: input.tool_call_id,
})

/** The entries of messages behind others, with the ids that they are recorded under. */
export function entriesBehind(line: Line, before: Entry | undefined, messages: readonly Said[]): Entry[] {
  let last = before?.id ?? before?.hash
  return messages.map((message) => {
    const id = idBehind(line, last, message.hash)
    last = id
    return entryOf(message, id)
  })
}

/** What of an answer a summary has: a program takes the tags off, and puts its own words in front. */
function tellingText(text: string): string {
  const inner = /<summary>([\s\S]*)<\/summary>/u.exec(text)?.[1] ?? text
  return inner.trim()
}

/**
 * The place of the message that has a recent answer in it, and is not that answer; or that only a provider reads, and
 * was not there before.
 * @param from up to here the list is what it was: a summary there is one of before
 */
function summaryIn(
  line: Line,
  messages: readonly Said[],
  kept: ReadonlyMap<number, number>,
  from: number,
): { readonly summaryAt: number; readonly answerId?: string | undefined } | undefined {
  const texts = line.texts
    .map(({ text, id }) => ({ text: tellingText(text), id }))
    .filter(({ text }) => text.length >= TELLING_CHARACTERS)
  for (const [at, { input, isCompaction, hash }] of messages.entries()) {
    if (at < from || kept.has(at) || input.role === 'tool') continue
    if (isCompaction === true && !line.entries.some((entry) => entry.hash === hash)) return { summaryAt: at }
    const said = textIn(input.content)
    if (said.length < TELLING_CHARACTERS) continue
    const answer = texts.find(({ text }) => said.includes(text))
    if (answer !== undefined) return { summaryAt: at, answerId: answer.id }
  }
  return undefined
}

/** Messages of the list that are recorded further on, in the order of the line. */
function keptBehind(line: Line, messages: readonly Said[], from: number): Map<number, number> {
  const kept = new Map<number, number>()
  const places = new Map<string, number[]>()
  for (const [at, { hash, id }] of line.entries.entries()) {
    if (id === undefined) continue
    const known = places.get(hash)
    if (known === undefined) places.set(hash, [at])
    else known.push(at)
  }
  let behind = -1
  for (const [at, { hash }] of messages.entries()) {
    if (at < from) {
      if (line.entries[at]?.id !== undefined) kept.set(at, at)
      behind = at
      continue
    }
    const place = places.get(hash)?.find((each) => each > behind)
    if (place === undefined) continue
    kept.set(at, place)
    behind = place
  }
  return kept
}

/** The same, each at its last place: what was said twice is the later one, since a program keeps the end of its list. */
function latest(line: Line, kept: ReadonlyMap<number, number>, from: number): Map<number, number> {
  const moved = new Map(kept)
  let before = line.entries.length
  for (const [at, first] of [...kept].toReversed()) {
    if (at < from) break
    let place = before - 1
    while (
      place > first &&
      (line.entries[place]?.id === undefined || line.entries[place]?.hash !== line.entries[first]?.hash)
    )
      place -= 1
    moved.set(at, place)
    before = place
  }
  return moved
}

/** How many messages the list and the line have in common at their beginning. */
function common(line: Line, messages: readonly Said[]): number {
  let at = 0
  while (at < messages.length && at < line.entries.length && line.entries[at]?.hash === messages[at]?.hash) at += 1
  return at
}

/** Results in the place of those that are recorded, up to the end of the line; undefined where anything else differs. */
function editsFrom(line: Line, messages: readonly Said[], from: number): number[] | undefined {
  if (messages.length < line.entries.length) return undefined
  const edits: number[] = []
  for (let at = from; at < line.entries.length; at += 1) {
    const entry = line.entries[at]
    const message = messages[at]
    if (entry === undefined || message === undefined) return undefined
    if (entry.hash === message.hash) continue
    const isResult = entry.role === 'tool' && entry.callId === message.input.tool_call_id && entry.id !== undefined
    if (!isResult) return undefined
    edits.push(at)
  }
  return edits
}

const asksForTag = (messages: readonly Said[]): boolean =>
  messages.some(({ input }) => textIn(input.content).includes('<summary>'))

/**
 * The place from which a list leaves the end of the line out, though it goes on from it. Claude Code asks for a summary
 * so, and keeps what it leaves out: the last answer, whether it came to its end or its calls run by then. Where no result
 * stands in between, the question stands in one message with what was answered, so that the list leaves this out too.
 */
export function leftOut(line: Line, messages: readonly Said[]): number | undefined {
  const at = common(line, messages)
  const [left, question] = [line.entries.slice(at), messages.slice(at)]
  const answer = left.pop()
  const isSaid = ({ role }: { readonly role: string }): boolean => role !== 'assistant' && role !== 'tool'
  const isBehind = left.length > 0 ? left.every(isSaid) : at > 0 && line.entries[at - 1]?.role !== 'assistant'
  if (answer?.id === undefined || answer.role !== 'assistant' || !isBehind) return undefined
  if (question[0]?.input.role !== 'user' || !question.every(({ input }) => isSaid(input))) return undefined
  const isEnd = left.length === 0 && answer.id === line.concluded
  return isEnd || asksForTag(question) ? at : undefined
}

/** A text that is nothing but a summary: programs ask for it in tags, some with a draft in front of it. */
export const isSummary = (content: unknown): boolean =>
  /^\s*(?:<analysis>[\s\S]*<\/analysis>\s*)?<summary>[\s\S]*<\/summary>\s*$/u.test(textIn(content))

/**
 * Where a request may ask for a summary of the program's own: the place of its question. Its list ends with what a user
 * says, and leaves the last answer out, or asks for the tag of a summary. Its answer tells whether it does.
 * @param given the list as the program sent it
 * @param asked the same, with the end of the line that it left out
 */
export function summaryQuestion(line: Line, given: Asked, asked: Asked, step: Step): number | undefined {
  if (step.kind !== 'goes-on' && step.kind !== 'anew') return undefined
  const from = step.kind === 'goes-on' ? step.from : Math.max(step.summaryAt ?? -1, ...step.kept.keys()) + 1
  const news = asked.messages.slice(from)
  const behind = news.findLastIndex(({ input: { role } }) => role === 'tool' || role === 'assistant')
  const question = news.slice(behind + 1)
  const isMarked = leftOut(line, given.messages) !== undefined || asksForTag(question)
  return question.length > 0 && isMarked ? from + behind + 1 : undefined
}

/** What a request is, by its list. */
export function stepOf(line: Line, asked: Asked, isProgram: boolean): Step {
  const { messages, tools } = asked
  const offered = toolsHash(tools)
  if (line.entries.length === 0 && line.instructions.length === 0)
    // A program that always offers its tools asks without them for titles and the like.
    return isProgram && offered === '' ? { kind: 'side' } : { kind: 'goes-on', from: 0, edits: [] }
  const from = common(line, messages)
  if (from === line.entries.length) return { kind: 'goes-on', from, edits: [] }
  // A title is asked for with the first message alone, and without tools: it is not the beginning asked again.
  if (offered === '' && line.tools !== '') return { kind: 'side' }
  if (from === messages.length) return { kind: 'again' }
  const edits = editsFrom(line, messages, from)
  if (edits !== undefined) return { kind: 'goes-on', from: line.entries.length, edits }
  const kept = keptBehind(line, messages, from)
  const isGap = [...kept].some(([at, place]) => at >= from && place !== at)
  const summary = summaryIn(line, messages, kept, from)
  const anew = { kind: 'anew', kept: latest(line, kept, from) } as const
  if (summary !== undefined) return { ...anew, ...summary }
  if (isGap && messages.length < line.entries.length) return { ...anew, summaryAt: firstNew(messages, kept) }
  // Where nothing offers tools there are no errands to be told by them: the list is the conversation's, and was edited.
  const isToolless = !isProgram && offered === '' && line.tools === ''
  if (from > 0 || isToolless) return { kind: 'rewinds', from }
  // Errands have tools of their own, and nothing that was answered before.
  const isOwn =
    offered === line.tools ||
    (isProgram && line.tools === '') ||
    [...kept.values()].some((place) => line.entries[place]?.role === 'assistant')
  return offered !== '' && isOwn ? { ...anew, summaryAt: firstNew(messages, kept) } : { kind: 'side' }
}

/** The first message that was not said before, where a program puts its summary; not the last one, which is asked now. */
function firstNew(messages: readonly Said[], kept: ReadonlyMap<number, number>): number | undefined {
  const at = messages.findIndex((message, place) => !kept.has(place) && message.input.role === 'user')
  return at === -1 || (at === messages.length - 1 && messages.length > 1) ? undefined : at
}

/** Whether a list goes on behind a compaction of this line's own, where no header says whose it is. */
export function isBegunAnew(line: Line, asked: Asked): boolean {
  const { messages } = asked
  const from = common(line, messages)
  const kept = keptBehind(line, messages, from)
  if (summaryIn(line, messages, kept, from) !== undefined) return true
  return [...kept.values()].some((place) => line.entries[place]?.role === 'assistant')
}
