/**
 * Reports what two compactions of the same messages keep and lose of the content that may be needed again: file names,
 * identifiers, numbers, constraints in their original words, and pinned messages.
 *
 * There are two levels. `kept`: an active summary contains the item, or a message with it is still live. `shown`: the
 * item is in the current context of the model. A name or a number is kept in any spelling. A constraint is kept if one
 * stretch of a text (a sentence and the next) has most of its words, all of its numbers, and the same negation: if the
 * constraint is negated, so is the stretch; if not, the clause with most of its words must not be negated.
 *
 * The counts are made by code and are the same on every machine. They do not judge how well a summary reads: they do
 * not detect that a negation refers to something else, or that a sentence with all words and the negation of a
 * constraint means its opposite ("without approval is never a problem").
 */
import { either as E } from 'fp-ts'
import { summaryOf } from '../conversation/batch.js'
import { contextOf } from '../compaction/context.js'
import type { Conversation } from '../conversation/conversation.js'
import { clausesOf, isDenied, isNegated } from '../text/cues.js'
import { statesRule } from '../text/rules.js'
import { lossKinds, type EventData } from '../events/index.js'
import { contentText, type MessageBody } from '../values/message.js'
import { dashedNamesIn, namesIn } from '../text/names.js'
import { numbersIn } from '../text/numbers.js'
import { sentencesOf } from '../text/sentences.js'
import { isSingleLetter, isVague, termCounts } from '../text/terms.js'

/** The items of one kind that each side keeps and shows. */
export type KindReport = EventData<'EditionCompared'>['losses'][number]
export type LossKind = KindReport['kind']
/** The items that one side has and the other lacks: their count, and the first ones, those with most mentions first. */
export type LossList = KindReport['lost']['kept']
/** An item, with the first message that contains it and the number of such messages. */
export type LossItem = LossList['items'][number]

interface Levels<T> {
  readonly kept: T
  readonly shown: T
}

/** A message of the conversation. */
export interface ReportedMessage extends MessageBody {
  readonly messageId: string
}

/** An index of texts, for lookups. */
export interface TextIndex {
  /** The file itself, or an end of its path that `isEnough`. */
  file(path: string, isEnough: (end: string) => boolean): boolean
  identifier(name: string): boolean
  number(value: string): boolean
  /** Most of a sentence's words in one stretch, with the same negation. */
  sentence(text: string): boolean
}

/** A side of the comparison: its texts and its live messages. */
export interface ComparedSide {
  readonly kept: TextIndex
  readonly shown: TextIndex
  readonly liveIds: ReadonlySet<string>
  /** Messages that the context shows whole. */
  readonly shownIds: ReadonlySet<string>
}

const MOST_ITEMS = 12
const MOST_CHARACTERS = 160
/**
 * The share of a sentence's words that a stretch must have. A sentence about the same thing with another meaning also
 * has half of them.
 */
const SHARE = 0.7
/** A longer constraint is a whole paragraph. Summaries do not repeat those. */
const MOST_CONSTRAINT_CHARACTERS = 360
const PIECE = 8_000
const NOWHERE: ReadonlySet<number> = new Set()

/** The whole text of a message, including the names and arguments of its tool calls. */
export const textOf = ({ content, toolCalls = [] }: MessageBody): string =>
  [
    contentText(content),
    ...toolCalls.flatMap((call) =>
      call.function === undefined ? [] : [`${call.function.name} ${call.function.arguments}`],
    ),
  ].join('\n')

/** The ends of a path, from the whole path to the file name. */
function endsOf(path: string): string[] {
  const parts = path.split('/')
  return parts.map((_part, at) => parts.slice(at).join('/'))
}

/** The significant words of a sentence; all words if it has none. */
function tellingTerms(text: string): string[] {
  const terms = [...termCounts(text).counts.keys()]
  const telling = terms.filter((term) => !isVague(term) && !isSingleLetter(term))
  return telling.length === 0 ? terms : telling
}

/** Indexes the texts of a side. Long texts are read in pieces, since the collectors read only both ends of a text. */
export function createTextIndex(texts: readonly string[]): TextIndex {
  const files = new Set<string>()
  const fileEnds = new Set<string>()
  const identifiers = new Set<string>()
  const numbers = new Set<string>()
  const sentences: { readonly text: string; readonly negated: boolean }[] = []
  /** The stretches that have each term, by the index of their first sentence. */
  const stretches = new Map<string, Set<number>>()

  function readSentences(piece: string): void {
    for (const [position, { text }] of sentencesOf(piece).entries()) {
      const at = sentences.push({ text, negated: isNegated(text) }) - 1
      for (const term of new Set(tellingTerms(text))) {
        const known = stretches.get(term) ?? new Set()
        // A stretch does not cross the end of a text.
        if (position > 0) known.add(at - 1)
        stretches.set(term, known.add(at))
      }
    }
    // An empty sentence separates the last sentence of this text from the first of the next.
    sentences.push({ text: '', negated: false })
  }

  /** Whether a stretch negates most of these words. A sentence without a negation is one clause. */
  function denies(stretch: number, terms: readonly string[]): boolean {
    const stretchSentences = sentences.slice(stretch, stretch + 2)
    if (!stretchSentences.some(({ negated }) => negated)) return false
    const clauses = stretchSentences
      .flatMap(({ text, negated }) => (negated ? clausesOf(text) : [text]))
      .map((clause) => {
        const { counts } = termCounts(clause)
        const known = new Set(counts.keys())
        return { denied: isDenied(clause), words: terms.filter((term) => known.has(term)).length }
      })
    const mostWords = (denied: boolean): number =>
      Math.max(0, ...clauses.filter((clause) => clause.denied === denied).map(({ words }) => words))
    return mostWords(true) > mostWords(false)
  }

  for (const text of texts) {
    for (const piece of piecesOf(text)) {
      const found = namesIn(piece)
      for (const { key } of found.files) {
        files.add(key)
        for (const end of endsOf(key)) fileEnds.add(end)
      }
      for (const { key } of found.identifiers) identifiers.add(key)
      for (const name of dashedNamesIn(piece)) identifiers.add(name)
      for (const { value } of numbersIn(piece)) numbers.add(value)
      readSentences(piece)
    }
  }

  return {
    file: (path, isEnough) => fileEnds.has(path) || endsOf(path).some((end) => files.has(end) && isEnough(end)),
    identifier: (name) => identifiers.has(name),
    number: (value) => numbers.has(value),
    sentence(text) {
      const terms = tellingTerms(text)
      const needed = Math.ceil(terms.length * SHARE)
      const negated = isNegated(text)
      const having = terms
        .map((term) => ({ stretches: stretches.get(term) ?? NOWHERE, demanded: /\p{N}/u.test(term) }))
        .toSorted((a, b) => a.stretches.size - b.stretches.size)
      // A different number is a different rule.
      const demanded = having.filter((term) => term.demanded)
      // A stretch with enough of the words has at least one of the rarest, so common words need not be looked up
      // everywhere.
      const candidates =
        demanded[0]?.stretches ??
        new Set(having.slice(0, terms.length - needed + 1).flatMap((term) => [...term.stretches]))
      return [...candidates].some(
        (stretch) =>
          demanded.every((term) => term.stretches.has(stretch)) &&
          having.filter((term) => term.stretches.has(stretch)).length >= needed &&
          (negated
            ? sentences[stretch]?.negated === true || sentences[stretch + 1]?.negated === true
            : !denies(stretch, terms)),
      )
    },
  }
}

/** Splits a long text into pieces, at line ends if possible. */
function piecesOf(text: string): string[] {
  const pieces: string[] = []
  let from = 0
  while (text.length - from > PIECE) {
    const line = text.lastIndexOf('\n', from + PIECE)
    const to = line > from ? line + 1 : from + PIECE
    pieces.push(text.slice(from, to))
    from = to
  }
  return [...pieces, text.slice(from)]
}

/**
 * A state as a side of the comparison. If its leading messages alone exceed the limit, there is no context and nothing
 * is shown.
 */
export function sideOf(state: Conversation): ComparedSide {
  const live = [...state.leading, ...state.retained, ...state.window]
  const context = contextOf(state)
  const messages = E.isRight(context) ? context.right.messages : []
  const shownIds = new Set(E.isRight(context) ? context.right.messageIds.flatMap((id) => id ?? []) : [])
  for (const { id } of E.isRight(context) ? (context.right.shortened ?? []) : []) shownIds.delete(id)
  return {
    kept: createTextIndex([...state.batches.map(summaryOf), ...live.map(textOf)]),
    shown: createTextIndex(
      messages.map(({ role, content, tool_calls }) => textOf({ role, content, toolCalls: tool_calls })),
    ),
    liveIds: new Set(live.map(({ messageId }) => messageId)),
    shownIds,
  }
}

/**
 * The constraints of a message: rules stated by its author, and quoted rules. Tool results and unquoted text of the
 * assistant do not count.
 */
function constraintsIn({ role, content }: MessageBody): string[] {
  if (role === 'tool') return []
  const text = contentText(content)
  const quoted = Array.from(
    text.matchAll(/“([^“”]{8,300})”|「([^「」]{4,300})」|『([^『』]{4,300})』|«([^«»]{8,300})»|"([^"\n]{8,300})"/gu),
    (match) => (match.slice(1).find((part) => part !== undefined) ?? '').trim(),
  )
  const spoken =
    role === 'assistant'
      ? []
      : sentencesOf(text).flatMap(({ text: sentence, code }) =>
          code || sentence.length > MOST_CONSTRAINT_CHARACTERS ? [] : sentence.split(/(?<=[。！？])/u),
        )
  return [...spoken, ...quoted].filter((sentence) => statesRule(sentence) && termCounts(sentence).counts.size > 1)
}

interface FoundItem extends LossItem {
  readonly key: string
}

/** One item, with the indexes of the messages that contain it, in order. */
interface Tally {
  readonly text: string
  readonly messages: readonly number[]
}

export interface LossReport {
  /** Adds a message of the conversation. Messages must be added in order. */
  add(message: ReportedMessage): void
  /** The report on all added messages. */
  result(): KindReport[]
}

/**
 * The distinct files. A path that is the end of exactly one other path is the same file and is counted with it. A path
 * that is the end of several others is ambiguous and is not counted.
 */
function distinctFiles(paths: ReadonlyMap<string, Tally>): {
  readonly files: ReadonlyMap<string, Tally>
  readonly bearers: ReadonlyMap<string, ReadonlySet<string>>
} {
  const inShort = new Set(
    [...paths.keys()].flatMap((path) =>
      endsOf(path)
        .slice(1)
        .filter((end) => paths.has(end)),
    ),
  )
  const whole = [...paths].filter(([path]) => !inShort.has(path))
  /** The files that have each end of a path. */
  const bearers = new Map<string, Set<string>>()
  for (const [path] of whole)
    for (const end of endsOf(path)) bearers.set(end, (bearers.get(end) ?? new Set()).add(path))
  const files = whole.map(([path, { text, messages: said }]): [string, Tally] => {
    const shortMentions = endsOf(path)
      .slice(1)
      .flatMap((end) => (bearers.get(end)?.size === 1 ? (paths.get(end)?.messages ?? []) : []))
    return [path, { text, messages: [...new Set([...said, ...shortMentions])].toSorted((a, b) => a - b) }]
  })
  // Ordered by first mention, in full or short form.
  return { files: new Map(files.toSorted(([, a], [, b]) => (a.messages[0] ?? 0) - (b.messages[0] ?? 0))), bearers }
}

/**
 * Starts a report on two sides.
 * @param pinned ids of the messages that are pinned on either side
 */
export function createLossReport(
  against: ComparedSide,
  edition: ComparedSide,
  pinned: ReadonlySet<string>,
): LossReport {
  const found: Readonly<Record<LossKind, Map<string, { readonly text: string; readonly messages: number[] }>>> = {
    pinned: new Map(),
    constraints: new Map(),
    files: new Map(),
    identifiers: new Map(),
    numbers: new Map(),
  }
  const messageIds: string[] = []

  /** Notes an item of the message that was added last. */
  function note(kind: LossKind, key: string, text: string): void {
    const message = messageIds.length - 1
    const known = found[kind].get(key)
    if (known === undefined) found[kind].set(key, { text, messages: [message] })
    else if (known.messages.at(-1) !== message) known.messages.push(message)
  }

  function add(message: ReportedMessage): void {
    const { messageId, role } = message
    messageIds.push(messageId)
    if (pinned.has(messageId)) note('pinned', messageId, contentText(message.content))
    // A message that is live on both sides was compacted by neither.
    if (against.liveIds.has(messageId) && edition.liveIds.has(messageId)) return
    const { files, identifiers } = namesIn(textOf(message))
    for (const { key } of files) note('files', key, key)
    for (const { key, text } of identifiers) note('identifiers', key, text)
    // Tool output is full of numbers that never matter again; only numbers in other messages count.
    if (role !== 'tool') {
      const spoken = contentText(message.content)
      for (const name of dashedNamesIn(spoken)) note('identifiers', name, name)
      for (const { value, text: number } of numbersIn(spoken)) note('numbers', value, number)
    }
    for (const constraint of constraintsIn(message))
      note('constraints', constraint.toLowerCase().replaceAll(/\s+/gu, ' '), constraint)
  }

  function result(): KindReport[] {
    const { files, bearers } = distinctFiles(found.files)
    // `index.ts` identifies a file only if no other file has this name.
    const isEnough = (end: string): boolean => (bearers.get(end)?.size ?? 0) < 2
    const hasItem = (kind: LossKind, index: TextIndex, ids: ReadonlySet<string>, { key, text }: FoundItem): boolean => {
      switch (kind) {
        case 'pinned':
          return ids.has(key)
        case 'constraints':
          return index.sentence(text)
        case 'files':
          return index.file(key, isEnough)
        case 'identifiers':
          return index.identifier(key)
        case 'numbers':
          return index.number(key)
      }
    }
    return lossKinds.map((kind) => {
      const all = [...(kind === 'files' ? files : found[kind])].map(([key, { text, messages: said }]): FoundItem => ({
        key,
        text,
        messageId: messageIds[said[0] ?? 0] ?? '',
        mentions: said.length,
      }))
      const has = ({ kept, shown, liveIds, shownIds }: ComparedSide): Levels<ReadonlySet<FoundItem>> => ({
        kept: new Set(all.filter((item) => hasItem(kind, kept, liveIds, item))),
        shown: new Set(all.filter((item) => hasItem(kind, shown, shownIds, item))),
      })
      const [before, after] = [has(against), has(edition)]
      const only = (these: typeof before, those: typeof before): { kept: LossList; shown: LossList } => ({
        kept: listOf(all.filter((item) => these.kept.has(item) && !those.kept.has(item))),
        shown: listOf(all.filter((item) => these.shown.has(item) && !those.shown.has(item))),
      })
      return {
        kind,
        total: all.length,
        against: { kept: before.kept.size, shown: before.shown.size },
        edition: { kept: after.kept.size, shown: after.shown.size },
        lost: only(before, after),
        gained: only(after, before),
      }
    })
  }

  return { add, result }
}

/** A text for a report: one line, shortened, without splitting a surrogate pair. */
function briefText(text: string): string {
  const line = text.replaceAll(/\s+/gu, ' ').trim()
  return line.length <= MOST_CHARACTERS
    ? line
    : `${line.slice(0, MOST_CHARACTERS - 1).replace(/[\ud800-\udbff]$/u, '')}…`
}

/** A list with the full count and as many items as an event may contain. */
export function listOf(items: readonly LossItem[]): LossList {
  // Items with equal mentions keep the order of their first mention.
  const first = items.toSorted((a, b) => b.mentions - a.mentions).slice(0, MOST_ITEMS)
  return {
    count: items.length,
    items: first.map(({ text, messageId, mentions }) => ({ text: briefText(text), messageId, mentions })),
  }
}
