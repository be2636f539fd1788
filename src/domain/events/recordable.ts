/**
 * The one door into every stream: a fact is recorded only if everybody can read it again. It goes through its own
 * schema as it will be read, and the names that somebody gave are held to what every store, table and index takes.
 * Facts of earlier programs are read more leniently, because they are there for ever: these limits are for what is
 * written today.
 */
import { either as E } from 'fp-ts'
import { z } from 'zod'
import type { Provenance } from './codec.js'
import { eventTypes, type Configuration, type Event, type EventType, type SummarizerRecord } from './index.js'
import { checkId } from '../values/ids.js'
import { issueSentence } from '../values/issue-sentence.js'
import { isTooDeep, MOST_LEVELS } from '../values/nesting.js'
import { MAX_TOKENS } from '../values/tokens.js'

/**
 * A fact that is not recorded, because a reader could not read it or a table could not hold it: which field, and why.
 */
export type NotRecordable = {
  readonly kind: 'NotRecordable'
  readonly event: EventType
  readonly field: string
  readonly detail: string
}

type Given = Readonly<Record<string, unknown>>

const ofConfiguration = ({ scope, estimator, settings }: Configuration): Given => ({
  scope,
  estimator,
  'policy.model': settings.model,
})
const ofSummarizer = ({
  strategy,
  provider,
  model,
}: Pick<SummarizerRecord, 'strategy' | 'provider' | 'model'>): Given => ({
  'summarizer.strategy': strategy,
  'summarizer.provider': provider,
  'summarizer.model': model,
})

/**
 * The names in a fact that came from outside. What other facts said before is not looked at again: it stays as it was
 * recorded.
 */
function namesGiven({ type, data }: Event): Given {
  if (type === 'ConversationConfigured') return ofConfiguration(data)
  if (type === 'EditionStarted') return { ...ofConfiguration(data.configuration), ...ofSummarizer(data.summarizer) }
  if (type === 'ChunkSummarized' || type === 'BatchesResummarized')
    return { ...ofSummarizer(data.summarizer), 'summarizer.prompt.name': data.summarizer.prompt.name }
  if (type === 'CompactionFailed') return { ...ofSummarizer(data), failure: data.failure }
  return type === 'PromptRegistered' ? { 'prompt.name': data.name } : {}
}

/** Tokens that somebody counted, and that sums are made of. */
function tokensGiven({ type, data }: Event): Given {
  if (type === 'MessageAppended' || type === 'BatchArchived') return { tokens: data.tokens }
  if (type !== 'ChunkSummarized' && type !== 'BatchesResummarized') return {}
  const { usage } = data.summarizer
  return {
    'summarizer.usage.promptTokens': usage?.promptTokens,
    'summarizer.usage.completionTokens': usage?.completionTokens,
  }
}

const timeSchema = z.iso.datetime()

/**
 * The fact as everybody will read it.
 * @param dataText the text of its data, as it will be stored
 */
export function recordable(
  event: Event,
  dataText: string,
  provenance: Provenance & { readonly recordedAt: string },
): E.Either<NotRecordable, Event> {
  const no = (field: string, detail: string): E.Either<NotRecordable, never> =>
    E.left({ kind: 'NotRecordable', event: event.type, field, detail })
  for (const field of ['actor', 'correlationId', 'causationId'] as const) {
    const name = checkId(field, provenance[field])
    if (E.isLeft(name)) return no(field, name.left.detail)
  }
  if (!timeSchema.safeParse(provenance.recordedAt).success)
    return no('clock', `says that it is ${provenance.recordedAt}, which is no time between the years 0 and 9999`)
  const stands: unknown = JSON.parse(dataText)
  // The fact itself is a few levels around what somebody gave.
  if (isTooDeep(stands, MOST_LEVELS + 8)) return no('data', `is nested deeper than ${String(MOST_LEVELS)} levels`)
  const read = eventTypes[event.type].schema.safeParse(stands)
  if (!read.success) {
    const [issue] = read.error.issues
    return no(issue?.path.join('.') || 'data', issueSentence(issue))
  }
  for (const [field, given] of Object.entries(namesGiven(event))) {
    const name = given === undefined ? E.right('') : checkId(field, given)
    if (E.isLeft(name)) return no(field, name.left.detail)
  }
  for (const [field, given] of Object.entries(tokensGiven(event))) {
    if (typeof given === 'number' && given > MAX_TOKENS)
      return no(field, `is ${String(given)}, and may be ${String(MAX_TOKENS)} at most`)
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema was chosen by the type, which the union cannot follow
  return E.right({ type: event.type, data: read.data } as Event)
}
