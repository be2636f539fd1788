/**
 * What two compactions of the same messages keep and lose of what somebody may ask for again: file names, identifiers,
 * numbers, constraints in the words in which they were given, and pinned messages.
 *
 * There are two levels. *Kept*: a summary in force names it, or a message with it is still live. *Shown*: it stands in
 * the context that the model gets now. A name or a number is kept where it is named, however it is written; a
 * constraint where one stretch of a text (a sentence and the next) has most of its words and all of its numbers, says
 * no where the constraint does, and where it does not says none in the clause that has most of those words. These are
 * counts by code, the same on every machine, and no judgement of how well a summary reads: they do not tell that a no
 * is about something else, or that a sentence with all words and the no of a constraint says its opposite ("without
 * approval is never a problem").
 */
import { either as E } from 'fp-ts'
import { summaryOf } from '../conversation/batch.js'
import { contextOf } from '../compaction/context.js'
import type { Conversation } from '../conversation/conversation.js'
import { clausesOf, isConstraint, isDenied, isNegated } from '../text/cues.js'
import { lossKinds, type EventData } from '../events/index.js'
import { contentText, type MessageBody } from '../values/message.js'
import { dashedNamesIn, namesIn } from '../text/names.js'
import { numbersIn } from '../text/numbers.js'
import { sentencesOf } from '../text/sentences.js'
import { isSingleLetter, isVague, termCounts } from '../text-search/terms.js'

/** What two sides keep and show of one kind. */
export type KindReport = EventData<'EditionCompared'>['losses'][number]
export type LossKind = KindReport['kind']
/**
 * All of what one side has and the other has not, counted, and the first ones: what more messages say stands in front.
 */
export type LossList = KindReport['lost']['kept']
/** One of them, with the first message that says it and how many do. */
export type LossItem = LossList['items'][number]

interface Levels<T> {
  readonly kept: T
  readonly shown: T
}

/** A message of the conversation. */
export interface ReportedMessage extends MessageBody {
  readonly messageId: string
}

/** What is looked for in a text. */
export interface SaidNames {
  /** The file itself, or an end of its path that `isEnough`. */
  file(path: string, isEnough: (end: string) => boolean): boolean
  identifier(name: string): boolean
  number(value: string): boolean
  /**
   * Most of a sentence's words in one stretch, with a no where it says no, and without one on them where it says none.
   */
  sentence(text: string): boolean
}

/** A side of the comparison: what it says, and which messages are live in it. */
export interface ComparedSide {
  readonly kept: SaidNames
  readonly shown: SaidNames
  readonly liveIds: ReadonlySet<string>
  /** Messages that the context shows whole. */
  readonly shownIds: ReadonlySet<string>
}

const MOST_ITEMS = 12
const MOST_CHARACTERS = 160
/**
 * Of a sentence's words so many have to be there. Half of them is also said by a sentence about the same thing that
 * says something else.
 */
const SHARE = 0.7
/** A constraint that is longer is a whole paragraph, and nobody's summary repeats it. */
const MOST_CONSTRAINT_CHARACTERS = 360
const PIECE = 8_000
const NOWHERE: ReadonlySet<number> = new Set()

/** Everything that a message says: its text, and the names and arguments of the tools that it calls. */
export const textOf = ({ content, toolCalls = [] }: MessageBody): string =>
  [
    contentText(content),
    ...toolCalls.flatMap((call) =>
      call.function === undefined ? [] : [`${call.function.name} ${call.function.arguments}`],
    ),
  ].join('\n')

/** A path's last parts, from all of it to its name alone. */
function endsOf(path: string): string[] {
  const parts = path.split('/')
  return parts.map((_part, at) => parts.slice(at).join('/'))
}

/** Words that tell what a sentence is about; all of them where it has no others. */
function tellingTerms(text: string): string[] {
  const terms = [...termCounts(text).counts.keys()]
  const telling = terms.filter((term) => !isVague(term) && !isSingleLetter(term))
  return telling.length === 0 ? terms : telling
}

/**
 * What a side says, made to be asked. Long texts are read in pieces, since the collectors read only the ends of one.
 */
export function createSaid(texts: readonly string[]): SaidNames {
  const files = new Set<string>()
  const fileEnds = new Set<string>()
  const identifiers = new Set<string>()
  const numbers = new Set<string>()
  const sentences: { readonly text: string; readonly negated: boolean }[] = []
  /** For each term the stretches that have it; a stretch has the number of its first sentence. */
  const stretches = new Map<string, Set<number>>()

  function readSentences(piece: string): void {
    for (const [place, { text }] of sentencesOf(piece).entries()) {
      const at = sentences.push({ text, negated: isNegated(text) }) - 1
      for (const term of new Set(tellingTerms(text))) {
        const known = stretches.get(term) ?? new Set()
        // No stretch reaches over the end of a text into the next.
        if (place > 0) known.add(at - 1)
        stretches.set(term, known.add(at))
      }
    }
    // An empty sentence keeps the last one of this text from being read together with the first of the next.
    sentences.push({ text: '', negated: false })
  }

  /** Whether a no lies on most of these words in a stretch. A sentence that says none is looked at as one clause. */
  function denies(stretch: number, terms: readonly string[]): boolean {
    const there = sentences.slice(stretch, stretch + 2)
    if (!there.some(({ negated }) => negated)) return false
    const clauses = there
      .flatMap(({ text, negated }) => (negated ? clausesOf(text) : [text]))
      .map((clause) => {
        const { counts } = termCounts(clause)
        const known = new Set(counts.keys())
        return { denied: isDenied(clause), words: terms.filter((term) => known.has(term)).length }
      })
    const most = (denied: boolean): number =>
      Math.max(0, ...clauses.filter((clause) => clause.denied === denied).map(({ words }) => words))
    return most(true) > most(false)
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
      // Another number is another rule.
      const demanded = having.filter((term) => term.demanded)
      // A stretch that has enough of the words has one of the rarest; so the words that are everywhere need not be
      // looked up everywhere.
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

/** A long text in pieces that end where a line does, where one does. */
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
 * A state as a side of the comparison. Where its leading messages alone do not fit, there is no context, and nothing is
 * shown.
 */
export function sideOf(state: Conversation): ComparedSide {
  const live = [...state.leading, ...state.retained, ...state.window]
  const context = contextOf(state)
  const messages = E.isRight(context) ? context.right.messages : []
  const shownIds = new Set(E.isRight(context) ? context.right.messageIds.flatMap((id) => id ?? []) : [])
  for (const { id } of E.isRight(context) ? (context.right.shortened ?? []) : []) shownIds.delete(id)
  return {
    kept: createSaid([...state.batches.map(summaryOf), ...live.map(textOf)]),
    shown: createSaid(
      messages.map(({ role, content, tool_calls }) => textOf({ role, content, toolCalls: tool_calls })),
    ),
    liveIds: new Set(live.map(({ messageId }) => messageId)),
    shownIds,
  }
}

/** Sentences of a message that bind: those of who gives orders, and what anybody quotes. */
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
  return [...spoken, ...quoted].filter((sentence) => isConstraint(sentence) && termCounts(sentence).counts.size > 1)
}

interface FoundItem extends LossItem {
  readonly key: string
}

/** One thing that messages say, with the numbers of these messages, in their order. */
interface Tally {
  readonly text: string
  readonly said: readonly number[]
}

export interface LossReport {
  /** Takes up a message of the conversation; they are told in their order. */
  add(message: ReportedMessage): void
  /** What each side keeps and shows of all that was taken up. */
  result(): KindReport[]
}

/**
 * Of paths those that are files of their own: one that another one ends with is the same file, said in short, and is
 * counted with it. One that several end with names none of them for certain, and is not counted.
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
  /** For each end of a path the files that have it. */
  const bearers = new Map<string, Set<string>>()
  for (const [path] of whole)
    for (const end of endsOf(path)) bearers.set(end, (bearers.get(end) ?? new Set()).add(path))
  const files = whole.map(([path, { text, said }]): [string, Tally] => {
    const others = endsOf(path)
      .slice(1)
      .flatMap((end) => (bearers.get(end)?.size === 1 ? (paths.get(end)?.said ?? []) : []))
    return [path, { text, said: [...new Set([...said, ...others])].toSorted((a, b) => a - b) }]
  })
  // In the order in which they were said first, in short or not.
  return { files: new Map(files.toSorted(([, a], [, b]) => (a.said[0] ?? 0) - (b.said[0] ?? 0))), bearers }
}

/**
 * Begins a report on two sides.
 * @param pinned ids of the messages that are pinned on either side
 */
export function createLossReport(
  against: ComparedSide,
  edition: ComparedSide,
  pinned: ReadonlySet<string>,
): LossReport {
  const found: Readonly<Record<LossKind, Map<string, { readonly text: string; readonly said: number[] }>>> = {
    pinned: new Map(),
    constraints: new Map(),
    files: new Map(),
    identifiers: new Map(),
    numbers: new Map(),
  }
  const messageIds: string[] = []

  /** Notes that the message that was taken up last says it. */
  function note(kind: LossKind, key: string, text: string): void {
    const by = messageIds.length - 1
    const known = found[kind].get(key)
    if (known === undefined) found[kind].set(key, { text, said: [by] })
    else if (known.said.at(-1) !== by) known.said.push(by)
  }

  function add(message: ReportedMessage): void {
    const { messageId, role } = message
    messageIds.push(messageId)
    if (pinned.has(messageId)) note('pinned', messageId, contentText(message.content))
    // What is live on both sides was compacted by neither.
    if (against.liveIds.has(messageId) && edition.liveIds.has(messageId)) return
    const { files, identifiers } = namesIn(textOf(message))
    for (const { key } of files) note('files', key, key)
    for (const { key, text } of identifiers) note('identifiers', key, text)
    // A tool's output is full of numbers that nobody will ask for; what somebody says of them counts.
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
    // index.ts tells which file is meant only where there is no second one.
    const isEnough = (end: string): boolean => (bearers.get(end)?.size ?? 0) < 2
    const says = (kind: LossKind, said: SaidNames, ids: ReadonlySet<string>, { key, text }: FoundItem): boolean => {
      switch (kind) {
        case 'pinned':
          return ids.has(key)
        case 'constraints':
          return said.sentence(text)
        case 'files':
          return said.file(key, isEnough)
        case 'identifiers':
          return said.identifier(key)
        case 'numbers':
          return said.number(key)
      }
    }
    return lossKinds.map((kind) => {
      const all = [...(kind === 'files' ? files : found[kind])].map(([key, { text, said }]): FoundItem => ({
        key,
        text,
        messageId: messageIds[said[0] ?? 0] ?? '',
        mentions: said.length,
      }))
      const has = ({ kept, shown, liveIds, shownIds }: ComparedSide): Levels<ReadonlySet<FoundItem>> => ({
        kept: new Set(all.filter((item) => says(kind, kept, liveIds, item))),
        shown: new Set(all.filter((item) => says(kind, shown, shownIds, item))),
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

/** A text that may stand in a report: one line, not too long, no emoji cut in half. */
function briefText(text: string): string {
  const line = text.replaceAll(/\s+/gu, ' ').trim()
  return line.length <= MOST_CHARACTERS
    ? line
    : `${line.slice(0, MOST_CHARACTERS - 1).replace(/[\ud800-\udbff]$/u, '')}…`
}

/** A list of what is there, counted in full, with as many as a fact may hold. */
export function listOf(items: readonly LossItem[]): LossList {
  // Those of as many mentions stay in the order in which they were said first.
  const first = items.toSorted((a, b) => b.mentions - a.mentions).slice(0, MOST_ITEMS)
  return {
    count: items.length,
    items: first.map(({ text, messageId, mentions }) => ({ text: briefText(text), messageId, mentions })),
  }
}
