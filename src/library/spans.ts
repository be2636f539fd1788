/**
 * OpenTelemetry spans, through its API only: without an SDK nothing is recorded. A cycle is `compact
 * {conversation}`, a call to a model is `chat {model}` by the conventions for generative AI. Spans contain no text
 * of a conversation unless OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is set.
 */
import { isLedgerError } from '../lib/ledger-error.js'
import { SpanKind, SpanStatusCode, trace, type Attributes, type Span } from '@opentelemetry/api'
import type { Compact } from '../application/compaction/compact.js'
import { isWithoutModel } from '../domain/reports/prices.js'
import { isSummarizerFailure, type Summarizer } from '../ports/summarizer.js'

/** Runs work in a span and records its error there. */
export async function inSpan<T>(
  name: string,
  options: { readonly kind?: SpanKind; readonly attributes?: Attributes },
  work: (span: Span) => Promise<T>,
): Promise<T> {
  return await trace.getTracer('context-ledger').startActiveSpan(name, options, async (span) => {
    try {
      return await work(span)
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR })
      span.setAttribute(
        'error.type',
        isLedgerError(error) ? error.kind : error instanceof Error ? error.name : 'unknown',
      )
      throw error
    } finally {
      span.end()
    }
  })
}

/** Compaction with a span for each run. */
export const tracedCompact =
  (compact: Compact): Compact =>
  async (conversationId, ...rest) =>
    await inSpan(
      `compact ${conversationId}`,
      { attributes: { 'gen_ai.conversation.id': conversationId, 'context_ledger.compaction.mode': rest[0] } },
      async (span) => {
        const run = await compact(conversationId, ...rest)
        span.setAttributes({
          'context_ledger.compaction.cycles': run.cycles,
          'context_ledger.compaction.summaries': run.summaries,
          'context_ledger.compaction.messages_compressed': run.messagesCompressed,
          'context_ledger.compaction.tokens_before': run.tokensBefore,
          'context_ledger.compaction.tokens_after': run.tokensAfter,
        })
        if (run.failure !== undefined) {
          span.setStatus({ code: SpanStatusCode.ERROR })
          span.setAttribute('error.type', run.failure.kind)
        }
        return run
      },
    )

/** Compaction that calls a listener at the start of each run. */
export const notifyingCompact =
  (compact: Compact, began: (running: ReturnType<Compact>) => void): Compact =>
  async (...given) => {
    const running = compact(...given)
    began(running)
    return await running
  }

/** Whether texts of conversations are wanted in spans. */
const wantsContent = (): boolean =>
  process.env['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT']?.toLowerCase() === 'true'

/** A summarizer with a span for each call to a model. A strategy without a model has none. */
export function tracedSummarizer(summarizer: Summarizer): Summarizer {
  if (isWithoutModel(summarizer)) return summarizer
  const { strategy, provider, model } = summarizer
  return {
    ...summarizer,
    prepare: (job) => summarizer.prepare(job),
    summarize: (prepared, signal) =>
      inSpan(
        `chat ${model}`,
        {
          kind: SpanKind.CLIENT,
          attributes: {
            'gen_ai.operation.name': 'chat',
            'gen_ai.provider.name': provider,
            'gen_ai.request.model': model,
            'context_ledger.summarizer.strategy': strategy,
          },
        },
        async (span) => {
          const answer = await summarizer.summarize(prepared, signal)
          if (isSummarizerFailure(answer)) {
            span.setStatus({ code: SpanStatusCode.ERROR })
            span.setAttribute('error.type', answer.failure)
            return answer
          }
          const { usage, responseId, text } = answer
          span.setAttributes({
            ...(responseId === undefined ? {} : { 'gen_ai.response.id': responseId }),
            ...(usage === undefined
              ? {}
              : {
                  'gen_ai.usage.input_tokens': usage.promptTokens,
                  'gen_ai.usage.output_tokens': usage.completionTokens,
                }),
            ...(wantsContent()
              ? {
                  'gen_ai.input.messages': JSON.stringify(prepared.request),
                  'gen_ai.output.messages': JSON.stringify([
                    { role: 'assistant', parts: [{ type: 'text', content: text }] },
                  ]),
                }
              : {}),
          })
          return answer
        },
      ),
  }
}
