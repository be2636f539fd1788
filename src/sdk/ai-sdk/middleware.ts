/**
 * A middleware of a language model that keeps the conversation in a ledger: what the model is given is the ledger's
 * context, and what it answers is recorded with the context that it answers.
 */
import type { LanguageModelMiddleware } from 'ai'
import { z } from 'zod'
import { issueSentence } from '../../domain/values/issue-sentence.js'
import type { Ledger } from '../../library/ledger.js'
import { problem } from '../../library/problem.js'
import type { TellProblem } from '../../library/tell-problem.js'
import { conversationIdOf, keptIn, type ListKeptIn } from '../given.js'
import { sendList, type ListToSend } from '../whole-list.js'
import { AnswerInPieces, answerOf, type Generated, type Streamed, type StreamPart } from './answers.js'
import { asPrompt, sdkForm, type SdkMessage } from './messages.js'

/** How a model's conversation is kept. */
export interface LedgerMiddlewareOptions extends ListKeptIn {
  /**
   * The conversation. A call that names its own in `providerOptions.contextLedger.conversationId` goes by that one; one
   * of the two there must be.
   */
  readonly conversationId?: string
}

/** What a single call may say: `providerOptions: { contextLedger: { … } }`. */
const callSchema = z.strictObject({
  /** The conversation of this call. */
  conversationId: z.string().optional(),
  /** False for a call beside the conversation, such as one for its title: it is left as it is, and not recorded. */
  record: z.boolean().optional(),
})

type CallOptions = Parameters<NonNullable<LanguageModelMiddleware['transformParams']>>[0]['params']
type Prompt = CallOptions['prompt']

/** A call that is recorded. */
interface KeptCall extends Pick<ListToSend<SdkMessage>, 'answers'> {
  readonly conversationId: string
}

/** Which conversation a call belongs to; undefined for one that is not recorded. */
function conversationOf({ providerOptions }: CallOptions, own: string | undefined): string | undefined {
  const parsed = callSchema.safeParse(providerOptions?.['contextLedger'] ?? {})
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const field = ['providerOptions', 'contextLedger', ...(issue?.path ?? [])].join('.')
    throw problem({ kind: 'BadInput', field, detail: issueSentence(issue) })
  }
  if (parsed.data.record === false) return undefined
  const id = parsed.data.conversationId ?? own
  if (id === undefined)
    throw problem({
      kind: 'BadInput',
      field: 'conversationId',
      detail:
        'is missing: give it to ledgerMiddleware, or to the call as providerOptions.contextLedger.conversationId; record: false there leaves a call alone',
    })
  return conversationIdOf(id)
}

/** Records an answer. What it is made of is a provider's, and whatever is wrong with it, the answer is its caller's. */
async function record(
  ledger: Ledger,
  { conversationId }: KeptCall,
  answer: () => ReturnType<typeof answerOf>,
  tell: TellProblem,
): Promise<void> {
  try {
    const message = answer()
    if (message !== undefined) await ledger.append(conversationId, message)
  } catch (error) {
    tell(error)
  }
}

/** The same stream; what came by is recorded before its end is told, or when whoever reads it leaves. */
function recorded(
  stream: Streamed['stream'],
  done: (pieces: AnswerInPieces) => Promise<void>,
  tell: TellProblem,
): ReadableStream<StreamPart> {
  const take = (part: StreamPart): void => {
    try {
      pieces.take(part)
    } catch (error) {
      tell(error)
    }
  }
  const reader = stream.getReader()
  const pieces = new AnswerInPieces()
  let told: Promise<void> | undefined
  const end = (): Promise<void> => (told ??= done(pieces))
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
 * Keeps a model's conversation in a ledger: `wrapLanguageModel({ model, middleware: ledgerMiddleware({ ledger,
 * conversationId }) })`. Works for `generateText`, `streamText` and whatever stands on them. The list that a call is made
 * with is what is said: its new messages are recorded, what it has no more is withdrawn, and the model is given the
 * ledger's context in its place. Where the ledger fails the call goes on with its own list.
 */
export function ledgerMiddleware(options: LedgerMiddlewareOptions): LanguageModelMiddleware {
  const tell = keptIn('ledgerMiddleware', options, ['ledger', 'conversationId', 'keptBy', 'onProblem'])
  const own = options.conversationId === undefined ? undefined : conversationIdOf(options.conversationId)
  const { ledger, keptBy = 'host' } = options
  const calls = new WeakMap<CallOptions, KeptCall>()

  return {
    specificationVersion: 'v4',
    async transformParams({ params }) {
      const conversationId = conversationOf(params, own)
      if (conversationId === undefined) return params
      // What a model is given and what we make of it have the same parts; the types name each of them.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const list = params.prompt as unknown as readonly SdkMessage[]
      const { messages, answers } = await sendList(ledger, { conversationId, list, keptBy }, sdkForm)
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
      await record(ledger, call, answer, tell)
      return result
    },
    async wrapStream({ doStream, params }): Promise<Streamed> {
      const call = calls.get(params)
      const result = await doStream()
      if (call === undefined) return result
      return {
        ...result,
        stream: recorded(
          result.stream,
          (pieces) => record(ledger, call, () => pieces.answer(call.answers), tell),
          tell,
        ),
      }
    },
  }
}
