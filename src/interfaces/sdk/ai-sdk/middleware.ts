/**
 * A language model middleware that records the conversation in a ledger. The model receives the ledger's context, and each
 * answer is recorded with the context that it answers.
 */
import type { LanguageModelMiddleware } from 'ai'
import { z } from 'zod'
import { issueSentence } from '../../../domain/values/issue-sentence.js'
import type { Ledger } from '../../../library/ledger.js'
import { problem } from '../../../library/problem.js'
import type { ReportProblem } from '../../../library/report-problem.js'
import { checkConversationId, checkOptions, type ListRecordingOptions } from '../options.js'
import { sendList, type ListToSend } from '../send-list.js'
import { StreamedAnswer, answerOf, type Generated, type Streamed, type StreamPart } from './answers.js'
import { asPrompt, sdkConverter, type SdkMessage } from '../../../application/model-apis/ai-sdk-messages.js'

/** Options of `ledgerMiddleware`. */
export interface LedgerMiddlewareOptions extends ListRecordingOptions {
  /**
   * The conversation. A call can name another one in `providerOptions.contextLedger.conversationId`. One of the two is
   * required.
   */
  readonly conversationId?: string
}

/** The options of a single call: `providerOptions: { contextLedger: { … } }`. */
const callSchema = z.strictObject({
  /** The conversation of this call. */
  conversationId: z.string().optional(),
  /** False for a call that is not part of the conversation, such as one for its title: it is sent unchanged and unrecorded. */
  record: z.boolean().optional(),
})

type CallOptions = Parameters<NonNullable<LanguageModelMiddleware['transformParams']>>[0]['params']
type Prompt = CallOptions['prompt']

/** A call that is recorded. */
interface RecordedCall extends Pick<ListToSend<SdkMessage>, 'answers'> {
  readonly conversationId: string
}

/** The conversation of a call; undefined if the call is not recorded. */
function conversationOf({ providerOptions }: CallOptions, defaultId: string | undefined): string | undefined {
  const parsed = callSchema.safeParse(providerOptions?.['contextLedger'] ?? {})
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const field = ['providerOptions', 'contextLedger', ...(issue?.path ?? [])].join('.')
    throw problem({ kind: 'BadInput', field, detail: issueSentence(issue) })
  }
  if (parsed.data.record === false) return undefined
  const id = parsed.data.conversationId ?? defaultId
  if (id === undefined)
    throw problem({
      kind: 'BadInput',
      field: 'conversationId',
      detail:
        'is missing: pass it to ledgerMiddleware, or to the call in providerOptions.contextLedger.conversationId (record: false there skips a call)',
    })
  return checkConversationId(id)
}

/** Records an answer. It reports errors instead of throwing: the caller receives the answer in any case. */
async function record(
  ledger: Ledger,
  { conversationId }: RecordedCall,
  answer: () => ReturnType<typeof answerOf>,
  reportProblem: ReportProblem,
): Promise<void> {
  try {
    const message = answer()
    if (message !== undefined) await ledger.append(conversationId, message)
  } catch (error) {
    reportProblem(error)
  }
}

/** The same stream. The answer is recorded before the stream ends, or when the reader cancels it. */
function recordedStream(
  stream: Streamed['stream'],
  recordAnswer: (answer: StreamedAnswer) => Promise<void>,
  reportProblem: ReportProblem,
): ReadableStream<StreamPart> {
  const take = (part: StreamPart): void => {
    try {
      answer.take(part)
    } catch (error) {
      reportProblem(error)
    }
  }
  const reader = stream.getReader()
  const answer = new StreamedAnswer()
  let recording: Promise<void> | undefined
  const end = (): Promise<void> => (recording ??= recordAnswer(answer))
  return new ReadableStream<StreamPart>(
    {
      async pull(controller) {
        try {
          const next = await reader.read()
          if (next.done) {
            await end()
            controller.close()
            return
          }
          take(next.value)
          controller.enqueue(next.value)
        } catch (error) {
          await end()
          controller.error(error)
        }
      },
      async cancel(reason) {
        await reader.cancel(reason)
        await end()
      },
    },
    { highWaterMark: 0 },
  )
}

/**
 * Records a model's conversation in a ledger: `wrapLanguageModel({ model, middleware: ledgerMiddleware({ ledger,
 * conversationId }) })`. Works for `generateText`, `streamText` and everything built on them. The list of a call is the
 * source of truth: new messages are recorded, missing ones are withdrawn, and the model receives the ledger's context
 * instead. If the ledger fails, the model receives the list of the call.
 */
export function ledgerMiddleware(options: LedgerMiddlewareOptions): LanguageModelMiddleware {
  const reportProblem = checkOptions('ledgerMiddleware', options, ['ledger', 'conversationId', 'keptBy', 'onProblem'])
  const defaultId = options.conversationId === undefined ? undefined : checkConversationId(options.conversationId)
  const { ledger, keptBy = 'host' } = options
  const calls = new WeakMap<CallOptions, RecordedCall>()

  return {
    specificationVersion: 'v4',
    async transformParams({ params }) {
      const conversationId = conversationOf(params, defaultId)
      if (conversationId === undefined) return params
      // The prompt and `SdkMessage` have the same parts; only the type of the prompt names each of them.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const list = params.prompt as unknown as readonly SdkMessage[]
      const { messages, answers } = await sendList(ledger, { conversationId, list, keptBy }, sdkConverter)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const sent: CallOptions = { ...params, prompt: asPrompt(messages) as unknown as Prompt }
      calls.set(sent, { conversationId, answers })
      return sent
    },
    async wrapGenerate({ doGenerate, params }): Promise<Generated> {
      const call = calls.get(params)
      const result = await doGenerate()
      if (call === undefined) return result
      const answer = (): ReturnType<typeof answerOf> => {
        const { content, usage, finishReason, response } = result
        const finish = finishReason.unified
        const metadata = { model: response?.modelId, responseId: response?.id, finishReason: finish, usage }
        return answerOf(content, metadata, call.answers)
      }
      await record(ledger, call, answer, reportProblem)
      return result
    },
    async wrapStream({ doStream, params }): Promise<Streamed> {
      const call = calls.get(params)
      const result = await doStream()
      if (call === undefined) return result
      return {
        ...result,
        stream: recordedStream(
          result.stream,
          (answer) => record(ledger, call, () => answer.answer(call.answers), reportProblem),
          reportProblem,
        ),
      }
    },
  }
}
