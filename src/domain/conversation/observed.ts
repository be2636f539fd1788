/**
 * A context that another program makes: the one that it made when it compacted last, and what was said since. Nothing in
 * it is ours: no limit, no placeholder, no order but the program's.
 */
import type { CarryForward, Configuration, EventData, ObservedEntry } from '../events/index.js'
import type { MessageBody } from '../values/message.js'
import { messageTokens, type FindEstimator } from '../values/tokens.js'
import type { LiveMessage } from './live-message.js'

/** A compaction of the program, with the revision of the event that tells of it. */
export type ObservedCompaction = EventData<'CompactionObserved'> & { readonly revision: bigint }

/** What a state knows of the program that makes its context. */
export interface Observed {
  readonly program: string
  readonly programVersion?: string | undefined
  /** Revision of the event that says that the program holds the conversation. */
  readonly since: bigint
  /** Told of, and not in force before the prune that follows it in the same append. */
  readonly announced?: ObservedCompaction | undefined
  /** The one that the context goes by; undefined before the first. */
  readonly compaction?: ObservedCompaction | undefined
  /** What the model is given in place of messages, since that compaction, by their ids. */
  readonly edits: ReadonlyMap<string, MessageBody['content']>
}

/** What a context shows: a body, and the message that it is of. */
export interface ObservedPart {
  readonly body: MessageBody
  readonly source: LiveMessage | undefined
  readonly tokens: number
}

interface ObservedState {
  readonly observed?: Observed | undefined
  readonly configuration: Configuration | undefined
  readonly findEstimator: FindEstimator
  readonly leading: readonly LiveMessage[]
  readonly retained: readonly LiveMessage[]
  readonly window: readonly LiveMessage[]
}

/** The attribute by which messages of one answer of a model are known. */
export const ANSWER = 'answerId'

type Estimate = (body: MessageBody) => number

function partOf(message: LiveMessage, content: MessageBody['content'] | undefined, estimate: Estimate): ObservedPart {
  if (content === undefined) return { body: message, source: message, tokens: message.tokens }
  const { role, name, toolCalls, toolCallId, extra } = message
  const body = { role, content, name, toolCalls, toolCallId, extra }
  return { body, source: message, tokens: estimate(body) }
}

/** The parts of an observed context in their order, each message by itself. */
function partsOf(state: ObservedState, observed: Observed): ObservedPart[] {
  const estimator = state.configuration === undefined ? undefined : state.findEstimator(state.configuration.estimator)
  const estimate: Estimate = (body) => (estimator === undefined ? 0 : messageTokens(body, estimator))
  const { compaction, edits } = observed
  const live = [...state.leading, ...state.retained, ...state.window]
  const said = (message: LiveMessage): ObservedPart => partOf(message, edits.get(message.messageId), estimate)
  if (compaction === undefined) return live.toSorted((a, b) => (a.revision < b.revision ? -1 : 1)).map(said)
  const byId = new Map(live.map((message) => [message.messageId, message]))
  const entries = compaction.context.flatMap((entry: ObservedEntry): ObservedPart[] => {
    if (entry.kind === 'missing') return []
    if (entry.kind === 'inserted') return [{ body: entry.body, source: undefined, tokens: estimate(entry.body) }]
    const message = byId.get(entry.messageId)
    if (message === undefined) return []
    return [partOf(message, edits.get(message.messageId) ?? entry.content, estimate)]
  })
  return [...entries, ...live.filter((message) => message.revision > compaction.revision).map(said)]
}

const contentParts = (content: MessageBody['content']): Exclude<MessageBody['content'], string | null> =>
  content === null || content === '' ? [] : typeof content === 'string' ? [{ type: 'text', text: content }] : content

/** Two messages of one answer as one: their texts behind each other, and all their calls. */
function joined(first: MessageBody, second: MessageBody): MessageBody {
  const calls = [...(first.toolCalls ?? []), ...(second.toolCalls ?? [])]
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

/** The observed context of a state. Messages of one answer that stand together are one message of it. */
export function observedParts(state: ObservedState): ObservedPart[] {
  if (state.observed === undefined) return []
  const shown: ObservedPart[] = []
  for (const part of partsOf(state, state.observed)) {
    const last = shown.at(-1)
    const answer = answerOf(part)
    if (last !== undefined && answer !== undefined && answerOf(last) === answer)
      shown[shown.length - 1] = {
        body: joined(last.body, part.body),
        source: last.source,
        tokens: last.tokens + part.tokens,
      }
    else shown.push(part)
  }
  return shown
}

/** Tokens of an observed context. */
export const observedTokens = (state: ObservedState): number =>
  state.observed === undefined ? 0 : partsOf(state, state.observed).reduce((sum, { tokens }) => sum + tokens, 0)

/** What an origin event carries of it. */
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
 * What an origin event puts into force of it.
 * @param compaction the one that it names, wherever it was read
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
