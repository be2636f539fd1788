/**
 * The messages of a context. A context that another program makes has those after its last compaction, and the messages
 * since then, in the program's order and without limits. `observed-context.ts` adapts it so that an API accepts it.
 */
import type { CarryForward, Configuration, EventData, ObservedEntry } from '../events/index.js'
import { canonicalJson } from '../values/hash.js'
import { type MessageBody, type ToolCall, bodyOf } from '../values/message.js'
import { messageTokens, type FindEstimator } from '../values/tokens.js'
import type { LiveMessage } from './live-message.js'

/** A compaction of the program, with the revision of the event that records it. */
export type ObservedCompaction = EventData<'CompactionObserved'> & { readonly revision: number }

/** The program that makes the context, and the state of its context. */
export interface Observed {
  readonly program: string
  readonly programVersion?: string | undefined
  /** Revision of the event that records that the program owns the conversation. */
  readonly since: number
  /** A recorded compaction. It takes effect with the prune event that follows it in the same append. */
  readonly announced?: ObservedCompaction | undefined
  /** The compaction that the context starts from; undefined before the first. */
  readonly compaction?: ObservedCompaction | undefined
  /** Content that the program sent to its model instead of messages since that compaction, by message id. */
  readonly edits: ReadonlyMap<string, MessageBody['content']>
}

/** A message of the context. `source` is its recorded message; undefined if another program inserted it. */
export interface ObservedPart {
  readonly body: MessageBody
  readonly source: LiveMessage | undefined
  readonly tokens: number
  /** The program inserted it as the summary of earlier messages. */
  readonly isSummary?: true | undefined
}

interface ObservedState {
  readonly observed?: Observed | undefined
  readonly configuration: Configuration | undefined
  readonly findEstimator: FindEstimator
  readonly leading: readonly LiveMessage[]
  readonly retained: readonly LiveMessage[]
  readonly window: readonly LiveMessage[]
}

/** Name of the attribute that links the messages of one model answer. */
export const ANSWER = 'answerId'

/**
 * The first renderer version that adapts contexts of other programs for APIs. Before it, a message that a program
 * emptied after a compaction kept its content.
 */
const FIRST_ADAPTED_VERSION = 5

export const isAdapted = (configuration: Configuration | undefined): configuration is Configuration =>
  configuration !== undefined && configuration.rendererVersion >= FIRST_ADAPTED_VERSION

type Estimate = (body: MessageBody) => number

function partOf(message: LiveMessage, content: MessageBody['content'] | undefined, estimate: Estimate): ObservedPart {
  if (content === undefined) return { body: message, source: message, tokens: message.tokens }
  const body = { ...bodyOf(message), content }
  return { body, source: message, tokens: estimate(body) }
}

/** The parts of an observed context in order, one for each message. */
function partsOf(state: ObservedState, observed: Observed): ObservedPart[] {
  const estimator = state.configuration === undefined ? undefined : state.findEstimator(state.configuration.estimator)
  const estimate: Estimate = (body) => (estimator === undefined ? 0 : messageTokens(body, estimator))
  const { compaction, edits } = observed
  const live = [...state.leading, ...state.retained, ...state.window]
  const toPart = (message: LiveMessage): ObservedPart => partOf(message, edits.get(message.messageId), estimate)
  if (compaction === undefined) return live.toSorted((a, b) => (a.revision < b.revision ? -1 : 1)).map(toPart)
  const byId = new Map(live.map((message) => [message.messageId, message]))
  const entries = compaction.context.flatMap((entry: ObservedEntry): ObservedPart[] => {
    if (entry.kind === 'missing') return []
    if (entry.kind === 'inserted') {
      const { body, isSummary } = entry
      return [{ body, source: undefined, tokens: estimate(body), isSummary }]
    }
    const message = byId.get(entry.messageId)
    if (message === undefined) return []
    const edited = edits.get(message.messageId)
    const isEdited = isAdapted(state.configuration) ? edits.has(message.messageId) : (edited ?? null) !== null
    return [partOf(message, isEdited ? edited : entry.content, estimate)]
  })
  return [...entries, ...live.filter((message) => message.revision > compaction.revision).map(toPart)]
}

const contentParts = (content: MessageBody['content']): Exclude<MessageBody['content'], string | null> =>
  content === null || content === '' ? [] : typeof content === 'string' ? [{ type: 'text', text: content }] : content

/** The calls of two messages of one answer; undefined if they use an id for two calls. A repeated call counts once. */
function joinedCalls(first: MessageBody, second: MessageBody): readonly ToolCall[] | undefined {
  const calls = new Map((first.toolCalls ?? []).map((call) => [call.id, call]))
  for (const call of second.toolCalls ?? []) {
    const known = calls.get(call.id)
    if (known !== undefined && canonicalJson(known) !== canonicalJson(call)) return undefined
    calls.set(call.id, known ?? call)
  }
  return [...calls.values()]
}

/** Joins two messages of one answer: their texts in order, and all their calls. Undefined if an API would refuse it. */
function joined(first: MessageBody, second: MessageBody): MessageBody | undefined {
  const calls = joinedCalls(first, second)
  if (calls === undefined) return undefined
  const parts = [...contentParts(first.content), ...contentParts(second.content)]
  const [only] = parts
  const isText = parts.length === 1 && only?.type === 'text' && Object.keys(only).length === 2
  return {
    ...first,
    content: parts.length === 0 ? null : isText && typeof only['text'] === 'string' ? only['text'] : parts,
    toolCalls: calls.length === 0 ? undefined : calls,
  }
}

const answerOf = ({ source, body }: ObservedPart): unknown =>
  body.role === 'assistant' ? source?.attributes?.[ANSWER] : undefined

/** The messages of the context of a state, in order; without the summary that the ledger makes. */
export const contextParts = (state: ObservedState): ObservedPart[] =>
  state.observed === undefined
    ? [...state.leading, ...state.retained, ...state.window].map((source) => ({
        body: source,
        source,
        tokens: source.tokens,
      }))
    : partsOf(state, state.observed)

/** The context of a state that another program makes. Adjacent messages of one answer are joined. */
export function observedParts(state: ObservedState): ObservedPart[] {
  if (state.observed === undefined) return []
  const joinedParts: ObservedPart[] = []
  for (const part of partsOf(state, state.observed)) {
    const last = joinedParts.at(-1)
    const answer = answerOf(part)
    const isSame = last !== undefined && answer !== undefined && answerOf(last) === answer
    const body = isSame ? joined(last.body, part.body) : undefined
    if (body === undefined || last === undefined) joinedParts.push(part)
    else joinedParts[joinedParts.length - 1] = { body, source: last.source, tokens: last.tokens + part.tokens }
  }
  return joinedParts
}

/** Tokens of an observed context. */
export const observedTokens = (state: ObservedState): number =>
  contextParts(state).reduce((sum, { tokens }) => sum + tokens, 0)

/** The data that a checkpoint event carries forward. */
export function carriedObserved({
  since,
  program,
  programVersion,
  compaction,
  edits,
}: Observed): NonNullable<CarryForward['observed']> {
  return {
    since,
    program,
    ...(programVersion === undefined ? {} : { programVersion }),
    ...(compaction === undefined ? {} : { compaction: compaction.revision }),
    ...(edits.size === 0 ? {} : { edits: [...edits].map(([messageId, content]) => ({ messageId, content })) }),
  }
}

/**
 * Restores the state from a checkpoint event.
 * @param compaction the compaction that the event refers to, from any source
 */
export function observedFrom(
  carried: CarryForward['observed'],
  compaction: ObservedCompaction | undefined,
): Observed | undefined {
  if (carried === undefined) return undefined
  const { since, program, programVersion, edits = [] } = carried
  return {
    program,
    ...(programVersion === undefined ? {} : { programVersion }),
    since,
    ...(compaction === undefined ? {} : { compaction }),
    edits: new Map(edits.map(({ messageId, content }) => [messageId, content])),
  }
}
