/** Reads the evidence of the file. Whatever is not as the format says is an error that names it. */

/** The place of an event. */
export interface Place {
  readonly stream: string
  readonly revision: string
}

/** A summary, and what it was made of. */
export interface SummaryClaim {
  readonly batchId: string
  readonly recorded: Place
  readonly chunk: Place | undefined
  readonly observed: Place | undefined
  readonly sources: readonly SummaryClaim[]
}

/** An event of the file. */
interface EventClaim {
  readonly leaf: number
  readonly record: string
  readonly body: string | undefined
  readonly proof: readonly number[]
}

/** The file's content. */
export interface Claims {
  readonly conversationId: string
  readonly note: string
  readonly verifierKeys: readonly string[]
  readonly timeStamp: string | undefined
  readonly nodes: readonly string[]
  readonly events: readonly EventClaim[]
  readonly context: {
    readonly revision: string
    readonly text: string
    readonly messageIds: readonly (string | undefined)[]
    readonly adapted: ReadonlySet<number>
    readonly statedBy: Place | undefined
  }
  readonly summaries: readonly SummaryClaim[]
  /** No signature covers these. */
  readonly unsigned: { readonly signedAt: string; readonly operator: string | undefined }
}

export type Fields = Readonly<Record<string, unknown>>

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const wrong = (name: string): never => {
  throw new Error(`the file has no valid “${name}”`)
}

export const fieldsOf = (value: unknown, name: string): Fields => (isFields(value) ? value : wrong(name))
export const listOf = (value: unknown, name: string): readonly unknown[] => (Array.isArray(value) ? value : wrong(name))
export const textOf = (value: unknown, name: string): string => (typeof value === 'string' ? value : wrong(name))
const numberOf = (value: unknown, name: string): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : wrong(name)

export const textsOf = (value: unknown, name: string): readonly string[] =>
  listOf(value, name).map((each) => textOf(each, name))
const numbersOf = (value: unknown, name: string): readonly number[] =>
  listOf(value, name).map((each) => numberOf(each, name))
const optionalText = (value: unknown, name: string): string | undefined =>
  value === undefined ? undefined : textOf(value, name)

function placeOf(value: unknown, name: string): Place {
  const { stream, revision } = fieldsOf(value, name)
  return { stream: textOf(stream, name), revision: textOf(revision, name) }
}

const optionalPlace = (value: unknown, name: string): Place | undefined =>
  value === undefined ? undefined : placeOf(value, name)

function summaryOf(value: unknown): SummaryClaim {
  const { batchId, recorded, chunk, observed, sources } = fieldsOf(value, 'summaries')
  return {
    batchId: textOf(batchId, 'batchId'),
    recorded: placeOf(recorded, 'recorded'),
    chunk: optionalPlace(chunk, 'chunk'),
    observed: optionalPlace(observed, 'observed'),
    sources: listOf(sources, 'sources').map(summaryOf),
  }
}

function eventOf(value: unknown): EventClaim {
  const { leaf, record, body, proof } = fieldsOf(value, 'events')
  return {
    leaf: numberOf(leaf, 'leaf'),
    record: textOf(record, 'record'),
    body: optionalText(body, 'body'),
    proof: numbersOf(proof, 'proof'),
  }
}

function contextOf(value: unknown): Claims['context'] {
  const { revision, text, messageIds, adapted, statedBy } = fieldsOf(value, 'context')
  return {
    revision: textOf(revision, 'revision'),
    text: textOf(text, 'text'),
    messageIds: listOf(messageIds, 'messageIds').map((id) => (id === null ? undefined : textOf(id, 'messageIds'))),
    adapted: new Set(numbersOf(adapted, 'adapted')),
    statedBy: optionalPlace(statedBy, 'statedBy'),
  }
}

function unsignedOf(value: unknown): Claims['unsigned'] {
  const { signedAt, operator } = fieldsOf(value, 'unsigned')
  const time = textOf(signedAt, 'signedAt')
  if (Number.isNaN(Date.parse(time))) wrong('signedAt')
  return { signedAt: time, operator: optionalText(operator, 'operator') }
}

/** The claims of the file. Throws if it is not evidence of this version. */
export function readClaims(json: string): Claims {
  const fields = fieldsOf(JSON.parse(json), 'evidence')
  if (fields['format'] !== 'context-ledger-evidence' || fields['version'] !== 1)
    throw new Error('the file is not evidence of version 1')
  const { note, verifierKeys, timeStamp } = fieldsOf(fields['checkpoint'], 'checkpoint')
  return {
    conversationId: textOf(fields['conversationId'], 'conversationId'),
    note: textOf(note, 'note'),
    verifierKeys: textsOf(verifierKeys, 'verifierKeys'),
    timeStamp: optionalText(timeStamp, 'timeStamp'),
    nodes: textsOf(fields['nodes'], 'nodes'),
    events: listOf(fields['events'], 'events').map(eventOf),
    context: contextOf(fields['context']),
    summaries: listOf(fields['summaries'], 'summaries').map(summaryOf),
    unsigned: unsignedOf(fields['unsigned']),
  }
}
