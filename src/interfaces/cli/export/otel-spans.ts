/**
 * Spans from the log, as lines of OTLP in JSON: `chat {model}` for each request for a summary, and `compact
 * {conversation}` for each cycle, with links to the requests since the cycle before. Attributes follow the
 * OpenTelemetry conventions for generative AI; those of the ledger begin with `context_ledger`.
 */
import { createHash } from 'node:crypto'
import type { RecordedEvent, SummarizerRecord } from '../../../domain/events/index.js'
import { isOfType } from '../../../application/recording/read-event.js'
import { isWithoutModel } from '../../../domain/reports/prices.js'

type Attribute = string | number | boolean | undefined
type Attributes = Readonly<Record<string, Attribute>>

const INTERNAL = 1
const CLIENT = 3
const ERROR = 2

/** Links of one span, the limit of OpenTelemetry's SDKs. */
const MOST_LINKS = 128

const idOf = (bytes: number, ...parts: readonly string[]): string =>
  createHash('sha256')
    .update(JSON.stringify(parts))
    .digest('hex')
    .slice(0, bytes * 2)

function valueOf(value: string | number | boolean): Record<string, unknown> {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

const attributesOf = (attributes: Attributes): unknown[] =>
  Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: valueOf(value) }]))

const nanoseconds = (milliseconds: number): string => String(BigInt(Math.round(milliseconds * 1_000)) * 1_000n)

/** A recorded request, until the next cycle. */
interface Request {
  readonly traceId: string
  readonly spanId: string
  readonly startedAt: number
}

interface SpanInput {
  readonly name: string
  readonly kind: number
  readonly startedAt: number
  readonly attributes: Attributes
  readonly error?: string
  readonly links?: readonly Request[]
}

/** Turns events into spans. Keeps the requests of each conversation until its next cycle. */
export class SpanWriter {
  private readonly requests = new Map<string, Request[]>()

  constructor(
    private readonly source: string,
    private readonly version: string,
    private readonly hasContent: boolean,
  ) {}

  /** The line for an event; undefined if the event is no span. */
  lineOf(event: RecordedEvent, conversationId: string): Record<string, unknown> | undefined {
    if (isOfType(event, 'ChunkSummarized', 'BatchesResummarized', 'SummarySetAside'))
      return this.request(event, conversationId)
    if (isOfType(event, 'CompactionFailed')) return this.failure(event, conversationId)
    return isOfType(event, 'MessagesPruned') ? this.cycle(event, conversationId) : undefined
  }

  private request(
    event: RecordedEvent<'ChunkSummarized' | 'BatchesResummarized' | 'SummarySetAside'>,
    conversationId: string,
  ): Record<string, unknown> | undefined {
    const { summarizer } = event.data
    // A strategy without a model, and a reused summary, send no request.
    if (isWithoutModel(summarizer) || summarizer.reused === true) return undefined
    const startedAt = Date.parse(event.metadata.recordedAt) - summarizer.durationMs
    this.remember(event, conversationId, startedAt)
    const text = 'summary' in event.data ? event.data.summary : event.data.content
    return this.span(event, conversationId, {
      name: `chat ${summarizer.model}`,
      kind: CLIENT,
      startedAt,
      attributes: {
        ...requestAttributes(summarizer),
        'gen_ai.output.messages': this.hasContent
          ? JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content: text }] }])
          : undefined,
      },
    })
  }

  private failure(
    event: RecordedEvent<'CompactionFailed'>,
    conversationId: string,
  ): Record<string, unknown> | undefined {
    const { failure, model, provider, strategy, rejectedAnswers = [], detail } = event.data
    if (isWithoutModel(event.data)) return undefined
    const duration = rejectedAnswers.reduce((sum, { durationMs }) => sum + durationMs, 0)
    const startedAt = Date.parse(event.metadata.recordedAt) - duration
    this.remember(event, conversationId, startedAt)
    return this.span(event, conversationId, {
      name: `chat ${model}`,
      kind: CLIENT,
      startedAt,
      error: failure,
      attributes: {
        ...nameAttributes({ model, provider, strategy }),
        'context_ledger.failure.detail': this.hasContent ? detail : undefined,
      },
    })
  }

  private cycle(event: RecordedEvent<'MessagesPruned'>, conversationId: string): Record<string, unknown> {
    const { cycle, pruned, why } = event.data
    const links = this.requests.get(conversationId) ?? []
    this.requests.delete(conversationId)
    const end = Date.parse(event.metadata.recordedAt)
    return this.span(event, conversationId, {
      name: `compact ${conversationId}`,
      kind: INTERNAL,
      startedAt: Math.min(end, ...links.map(({ startedAt }) => startedAt)),
      links,
      attributes: {
        'context_ledger.compaction.cycle': cycle,
        'context_ledger.compaction.trigger': why.trigger,
        'context_ledger.compaction.batches': pruned.length,
        'context_ledger.compaction.messages_compressed': pruned.reduce(
          (sum, { messageIds }) => sum + messageIds.length,
          0,
        ),
      },
    })
  }

  /** Keeps a request for the links of the next cycle. */
  private remember(event: RecordedEvent, conversationId: string, startedAt: number): void {
    const earlier = this.requests.get(conversationId) ?? []
    this.requests.set(conversationId, [...earlier, { ...this.idsOf(event), startedAt }].slice(-MOST_LINKS))
  }

  private idsOf({ id, metadata }: RecordedEvent): Pick<Request, 'traceId' | 'spanId'> {
    return { traceId: idOf(16, this.source, metadata.correlationId), spanId: idOf(8, this.source, id) }
  }

  private span(event: RecordedEvent, conversationId: string, input: SpanInput): Record<string, unknown> {
    const { name, kind, startedAt, attributes, error, links = [] } = input
    const { actor, recordedAt } = event.metadata
    const all: Attributes = {
      ...attributes,
      'gen_ai.conversation.id': conversationId,
      'error.type': error,
      'context_ledger.actor': actor,
      'context_ledger.event.id': event.id,
      'context_ledger.event.type': event.type,
      'context_ledger.event.position': event.position,
    }
    const span = {
      ...this.idsOf(event),
      name,
      kind,
      startTimeUnixNano: nanoseconds(startedAt),
      endTimeUnixNano: nanoseconds(Date.parse(recordedAt)),
      attributes: attributesOf(all),
      ...(links.length === 0 ? {} : { links: links.map(({ traceId, spanId }) => ({ traceId, spanId })) }),
      status: error === undefined ? {} : { code: ERROR, message: error },
    }
    const resource = { 'service.name': 'context-ledger', 'service.instance.id': this.source }
    return {
      resourceSpans: [
        {
          resource: { attributes: attributesOf(resource) },
          scopeSpans: [{ scope: { name: 'context-ledger', version: this.version }, spans: [span] }],
        },
      ],
    }
  }
}

const nameAttributes = ({
  model,
  provider,
  strategy,
}: Pick<SummarizerRecord, 'model' | 'provider' | 'strategy'>): Attributes => ({
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': provider,
  'gen_ai.request.model': model,
  'context_ledger.summarizer.strategy': strategy,
})

const requestAttributes = (summarizer: SummarizerRecord): Attributes => ({
  ...nameAttributes(summarizer),
  'gen_ai.prompt.name': summarizer.prompt.name,
  'gen_ai.prompt.version': summarizer.prompt.sha256,
  'gen_ai.response.id': summarizer.responseId,
  'gen_ai.usage.input_tokens': summarizer.usage?.promptTokens,
  'gen_ai.usage.output_tokens': summarizer.usage?.completionTokens,
  'gen_ai.usage.cache_read.input_tokens': summarizer.usage?.cachedTokens,
})
