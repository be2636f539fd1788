/**
 * Plans a handoff within a budget of tokens: the newest messages verbatim, and for all older ones the summary and the note
 * of `recall`, which has all rules. A repair has the context as it is: its summary and all its messages.
 */
import { either as E } from 'fp-ts'
import { contextParts, type ObservedPart } from '../../domain/conversation/observed.js'
import type { LiveMessage } from '../../domain/conversation/live-message.js'
import { authorOfMessage, ownContent } from '../../domain/text/authorship.js'
import { contentText, isInstruction } from '../../domain/values/message.js'
import { HANDOVER_BEGINNING, HANDOVER_SOURCE, NOTE_TOKENS } from '../../domain/values/recall-note.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { entriesOf } from '../recall/entries.js'
import type { ContextComparison } from '../recall/context-comparison.js'
import { noteOf, type RecallNote } from '../recall/note.js'
import type { HandoffFailure } from './failures.js'
import {
  lose,
  NO_REPAIRS,
  piecesOf,
  type HandedMessage,
  type Losses,
  type Piece,
  type Repairs,
} from './handed-messages.js'
import type { SessionTurn } from './session.js'
import { exactText } from '../../lib/json.js'
import { textIn } from '../../lib/text-in.js'

/** The tokens of a handed over session, unless a budget is set: half of a small context window. */
export const HANDOFF_TOKENS = 100_000

/** Something that the new session lacks or has in another form, and its number. */
export interface NotHandedOver {
  readonly what: string
  readonly number: number
}

/** The planned content of the new session. */
export interface HandoffPlan {
  readonly turns: readonly SessionTurn[]
  /** Ids of the recorded messages that each turn is made of. */
  readonly sources: readonly (readonly string[])[]
  /** The text for all older messages; undefined if there are none. */
  readonly handover: string | undefined
  /** Number of turns that the context has before the handover. */
  readonly turnsBefore: number
  readonly note: RecallNote
  /** How the summary of older messages travels. */
  readonly summary: 'text' | 'opaque' | 'none'
  /** Ids of the recorded messages that travel verbatim, in order. */
  readonly messageIds: readonly string[]
  /** Number of messages that only the summary and the note cover. */
  readonly older: number
  readonly notHandedOver: readonly NotHandedOver[]
  readonly repairs: Repairs
  /** Estimated tokens of everything that travels. */
  readonly tokens: number
}

export interface PlanOptions {
  readonly to: string
  /** If true, the session is for the program that recorded it, and has its context as it is. */
  readonly isRepair: boolean
  readonly budget: number
  readonly conversationId: string
  /** Replaces secrets in recorded texts. */
  readonly redact: <Value>(value: Value) => Value
}

/** The messages of a context, sorted by how they travel. */
interface Sorted {
  readonly messages: readonly HandedMessage[]
  /** Instructions of a conversation without a program, which no other program knows. */
  readonly instructions: readonly string[]
  readonly losses: Losses
  /** Number of messages before the summary. */
  readonly beforeSummary: number
}

const toHanded = (source: LiveMessage, body: ObservedPart['body']): HandedMessage => ({
  messageId: source.messageId,
  body,
  at: source.createdAt,
  isError: source.attributes?.['isError'] === true,
  model: textIn(source.attributes?.['model']),
  answerId: textIn(source.attributes?.['answerId']),
})

/** A message that the program inserted. */
const toInserted = (body: ObservedPart['body'], at: string): HandedMessage => ({
  messageId: undefined,
  body,
  at,
  isError: false,
  model: undefined,
  answerId: undefined,
})

function sorted({ state, origin }: ContextComparison, { redact, isRepair }: PlanOptions): Sorted {
  const losses: Losses = new Map()
  const messages: HandedMessage[] = []
  const instructions: string[] = []
  const program = origin?.program
  const parts = contextParts(state)
  let [at, beforeSummary] = [parts.find(({ source }) => source !== undefined)?.source?.createdAt ?? '', 0]
  for (const { body, source, isSummary } of parts) {
    if (isSummary === true) {
      beforeSummary = messages.length
      continue
    }
    at = source?.createdAt ?? at
    const authored = { ...body, attributes: source?.attributes }
    const isOfProgram = !isInstruction(body) && ['program', 'ledger'].includes(authorOfMessage(authored))
    if (isRepair && source?.erased !== true && !isInstruction(body))
      messages.push(source === undefined ? toInserted(redact(body), at) : toHanded(source, redact(body)))
    else if (source === undefined || isOfProgram)
      lose(losses, `text of ${program ?? 'the program'} in the role of the user`)
    else if (source.erased === true) lose(losses, 'erased message')
    else if (!isInstruction(body)) messages.push(toHanded(source, redact({ ...body, content: ownContent(authored) })))
    else if (program === undefined) instructions.push(contentText(redact(body).content))
    else lose(losses, `instructions of ${program}`)
  }
  return { messages, instructions, losses, beforeSummary }
}

const tokensOf = (text: string): number => defaultEstimator.text(text)
/** An image costs about as much as this many tokens. */
const IMAGE_TOKENS = 1_000

function turnTokens(turn: SessionTurn): number {
  const parts = turn.role === 'user' ? turn.parts : turn.calls.flatMap(({ result }) => result.parts)
  const calls = turn.role === 'user' ? [] : turn.calls
  return (
    (turn.role === 'user' ? 0 : tokensOf(turn.text)) +
    parts.reduce((sum, part) => sum + (part.kind === 'text' ? tokensOf(part.text) : IMAGE_TOKENS), 0) +
    calls.reduce((sum, { name, input }) => sum + tokensOf(name + (exactText(input) ?? '')), 0)
  )
}

const pieceTokens = ({ turns }: Piece): number => turns.reduce((sum, turn) => sum + turnTokens(turn), 0)

/** The newest pieces that fit. */
function newest(pieces: readonly Piece[], limit: number): readonly Piece[] {
  let used = 0
  let from = pieces.length
  for (; from > 0; from -= 1) {
    const piece = pieces[from - 1]
    used += piece === undefined ? 0 : pieceTokens(piece)
    if (used > limit) break
  }
  return pieces.slice(from)
}

/**
 * The context of the new session, as `recall` compares it with the log. Instructions are in no note: those of a program
 * are of no use to another one, and others travel whole.
 */
function missingAfter(missing: ContextComparison, travelling: ReadonlySet<string>): ContextComparison {
  const isTravelling = ({ messageId }: ReportMessage): boolean => travelling.has(messageId)
  const before = missing.before.filter((message) => !isInstruction(message))
  return {
    ...missing,
    before,
    unchangedIds: new Set([...missing.unchangedIds].filter((id) => travelling.has(id))),
    remaining: missing.remaining.filter(isTravelling),
    after: missing.after.filter(isTravelling),
    removed: before.filter((message) => !isTravelling(message)),
  }
}

interface Texts {
  readonly instructions: readonly string[]
  readonly summary: string
}

const opening = (id: string, from: string | undefined): string =>
  `${HANDOVER_BEGINNING}${id}${from === undefined ? '' : `, a session of ${from}`}${HANDOVER_SOURCE} Its newest messages follow verbatim. This message covers everything older.`

function handoverText({ instructions, summary }: Texts, note: string, id: string, from: string | undefined): string {
  return [
    opening(id, from),
    ...(instructions.length === 0 ? [] : ['# Instructions', ...instructions]),
    ...(summary === '' ? [] : ['# Summary', summary]),
    ...(note === '' ? [] : ['# Note', note.trimEnd()]),
  ].join('\n\n')
}

const merged = (all: readonly Losses[]): NotHandedOver[] => {
  const sum: Losses = new Map()
  for (const losses of all) for (const [what, number] of losses) lose(sum, what, number)
  return [...sum].map(([what, number]) => ({ what, number }))
}

const summed = (all: readonly Repairs[]): Repairs =>
  all.reduce(
    (sum, each) => ({
      openCalls: sum.openCalls + each.openCalls,
      resultsWithoutCall: sum.resultsWithoutCall + each.resultsWithoutCall,
      repeatedResults: sum.repeatedResults + each.repeatedResults,
      furtherResults: sum.furtherResults + each.furtherResults,
      incompleteArguments: sum.incompleteArguments + each.incompleteArguments,
    }),
    NO_REPAIRS,
  )

const turnsOf = (pieces: readonly Piece[]): SessionTurn[] => pieces.flatMap(({ turns }) => turns)

/** The parts of a plan that are the same for a repair and for another handoff. */
function common({ losses }: Sorted, chosen: readonly Piece[], handover: string | undefined) {
  const turns = turnsOf(chosen)
  return {
    turns,
    handover,
    messageIds: chosen.flatMap((piece) => piece.messageIds),
    notHandedOver: merged([losses, ...chosen.map((piece) => piece.losses)]),
    repairs: summed(chosen.map((piece) => piece.repairs)),
    tokens: (handover === undefined ? 0 : tokensOf(handover)) + turns.reduce((sum, turn) => sum + turnTokens(turn), 0),
  }
}

/**
 * The context as it is: its summary, and no note of older messages. Undefined if the summary is missing or cannot be
 * read, or if the budget has no room for all.
 */
function wholeContext(missing: ContextComparison, found: Sorted, options: PlanOptions): HandoffPlan | undefined {
  const { to, budget, redact } = options
  const direction = { from: to, to, isRepair: true }
  // opencode itself puts its request for a summary before each summary.
  const isRequest = ({ messageId }: HandedMessage, at: number): boolean =>
    to === 'opencode' && messageId === undefined && at < found.beforeSummary
  const messages = found.messages.filter((message, at) => !isRequest(message, at))
  const pieces = piecesOf(messages, direction)
  const summary = missing.summary.kind === 'text' ? redact(missing.summary.text) : ''
  const plan = common(found, pieces, summary === '' ? undefined : summary)
  const isWhole = summary !== '' || (missing.removed.length === 0 && plan.turns.length > 0)
  if (!isWhole || plan.tokens > budget) return undefined
  const all = missing.before.map(({ messageId }) => messageId)
  const before = piecesOf(messages.slice(0, found.beforeSummary), direction)
  return {
    ...plan,
    // A text that the program inserted may say what any message says.
    sources: pieces.flatMap(({ turns, messageIds }) => turns.map(() => (messageIds.length === 0 ? all : messageIds))),
    turnsBefore: turnsOf(before).length,
    note: noteOf([], 0, ['rules']),
    summary: summary === '' ? 'none' : 'text',
    older: missingAfter(missing, new Set(plan.messageIds)).removed.length,
  }
}

/** Plans a handoff. */
export function planHandoff(missing: ContextComparison, options: PlanOptions): E.Either<HandoffFailure, HandoffPlan> {
  const { to, isRepair, budget, conversationId, redact } = options
  const from = missing.origin?.program
  const found = sorted(missing, options)
  const whole = isRepair ? wholeContext(missing, found, options) : undefined
  if (whole !== undefined) return E.right(whole)
  const { messages, instructions } = found
  const pieces = piecesOf(messages, { from, to, isRepair })
  const summary = missing.summary.kind === 'text' ? redact(missing.summary.text) : ''
  const textsOnly = tokensOf(handoverText({ instructions, summary }, '', conversationId, from))
  const noteAt = (limit: number, travelling: ReadonlySet<string>): RecallNote =>
    noteOf(redact(entriesOf(missingAfter(missing, travelling), [])), limit, ['rules'])
  const allRules = entriesOf(missingAfter(missing, new Set()), []).filter(({ section }) => section === 'rules')
  const ruleTokens = noteOf(redact(allRules), Infinity).tokens
  const isAllNew = missing.compactions === 0 && instructions.length === 0 && summary === ''
  const total = pieces.reduce((sum, piece) => sum + pieceTokens(piece), 0)
  const isWhole = isAllNew && total <= budget
  const needed = textsOnly + ruleTokens
  if (!isWhole && needed > budget) return E.left({ kind: 'BudgetTooSmall', budget, needed, rules: allRules.length })
  const noteLimit = Math.min(Math.max(NOTE_TOKENS, ruleTokens), budget - textsOnly)
  const chosen = isWhole ? pieces : newest(pieces, budget - textsOnly - noteLimit)
  const travelling = new Set(chosen.flatMap((piece) => piece.messageIds))
  const note = noteAt(isWhole ? 0 : noteLimit, travelling)
  const older = missingAfter(missing, travelling).removed.length
  if (turnsOf(chosen).length === 0 && isWhole) return E.left({ kind: 'NothingToHandOver', conversationId })
  const handover = isWhole ? undefined : handoverText({ instructions, summary }, note.text, conversationId, from)
  return E.right({
    ...common(found, chosen, handover),
    sources: chosen.flatMap((piece) => piece.turns.map(() => piece.messageIds)),
    turnsBefore: 0,
    note,
    summary: missing.summary.kind === 'text' && summary === '' ? 'none' : missing.summary.kind,
    older,
  })
}
