/**
 * The same as the middleware, where it can be seen: `prepareStep` gives each step its messages, and `onStepEnd` records
 * what the step came to.
 */
import type { Instructions, ModelMessage, StepResult, SystemModelMessage, ToolSet } from 'ai'
import type { MessageInput } from '../../domain/values/chat-message.js'
import { conversationIdOf, keptIn, type ListKeptIn } from '../given.js'
import { sendList } from '../whole-list.js'
import { asPrompt, sdkForm, toLedger, type SdkMessage } from './messages.js'

/** Which conversation the steps belong to. */
export interface LedgerStepsOptions extends ListKeptIn {
  /** The conversation. */
  readonly conversationId: string
}

/** What `prepareStep` of the AI SDK is called with, as far as it is used here. */
export interface StepToPrepare {
  /** The steps that ended. */
  readonly steps: readonly Pick<StepResult<ToolSet>, 'response' | 'experimental_steeringMessages'>[]
  /** The instructions that the call was made with. */
  readonly initialInstructions: Instructions | undefined
  /** The messages that the call was made with. */
  readonly initialMessages: readonly ModelMessage[]
  /** What the steps said. */
  readonly responseMessages: readonly ModelMessage[]
  /** What came from the user for this step. */
  readonly experimental_steeringMessages?: readonly ModelMessage[]
}

/** A step's messages: the ledger's context. */
export interface PreparedStep {
  /** The instructions of the call, and behind them the view of what was compacted. */
  readonly instructions?: SystemModelMessage[]
  /** All others. */
  readonly messages: ModelMessage[]
}

/** What a step came to, as far as it is used here. */
export interface EndedStep {
  /** The model. */
  readonly model: { readonly modelId: string }
  /** Why the model ended. */
  readonly finishReason: string
  /** What the step took. */
  readonly usage: StepResult<ToolSet>['usage']
  /** What the step said. */
  readonly response: { readonly id: string; readonly messages: readonly ModelMessage[] }
}

/** `generateText({ …, ...ledgerSteps({ ledger, conversationId }) })`. */
export interface LedgerSteps {
  /** Records what is new, and gives the step its messages. */
  prepareStep(step: StepToPrepare): Promise<PreparedStep>
  /** Records what the step said, with its usage and the context that it answers. */
  onStepEnd(step: EndedStep): Promise<void>
}

// The types name each part; what they come to has the same parts.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const asSdk = (messages: readonly ModelMessage[]): readonly SdkMessage[] => messages as unknown as readonly SdkMessage[]
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const asModel = (messages: readonly SdkMessage[]): ModelMessage[] => messages as unknown as ModelMessage[]

function instructionsOf(instructions: Instructions | undefined): SystemModelMessage[] {
  if (instructions === undefined) return []
  if (typeof instructions === 'string') return [{ role: 'system', content: instructions }]
  return Array.isArray(instructions) ? instructions : [instructions]
}

/** All that was said, in its order. */
function saidBy(step: StepToPrepare): ModelMessage[] {
  const { steps, initialMessages, responseMessages, experimental_steeringMessages: steering = [] } = step
  const bySteps = steps.flatMap(({ response }) => response.messages.length).reduce((sum, count) => sum + count, 0)
  return [
    ...initialMessages,
    ...responseMessages.slice(0, responseMessages.length - bySteps),
    ...steps.flatMap((ended) => [...(ended.experimental_steeringMessages ?? []), ...ended.response.messages]),
    ...steering,
  ]
}

/**
 * Keeps the steps of a call in a ledger, in sight: `generateText({ …, ...ledgerSteps({ ledger, conversationId }) })`. A
 * model that has the middleware needs none of it.
 */
export function ledgerSteps(options: LedgerStepsOptions): LedgerSteps {
  const tell = keptIn('ledgerSteps', options, ['ledger', 'conversationId', 'keptBy', 'onProblem'])
  const conversationId = conversationIdOf(options.conversationId)
  const { ledger, keptBy = 'host' } = options
  let answers: MessageInput['answers']

  return {
    async prepareStep(step) {
      const list = asSdk([...instructionsOf(step.initialInstructions), ...saidBy(step)])
      const sent = await sendList(ledger, { conversationId, list, keptBy }, sdkForm)
      answers = sent.answers
      const prompt = asPrompt(sent.messages)
      // The AI SDK takes system messages as instructions alone, unless the call has asked for them among the others.
      const amongOthers = step.initialMessages.some(({ role }) => role === 'system')
      const end = prompt.findIndex(({ role }) => role !== 'system')
      const leads = (message: SdkMessage, at: number): boolean =>
        message.role === 'system' && (!amongOthers || at < end)
      const instructions = prompt.filter(leads)
      return {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        ...(instructions.length === 0 ? {} : { instructions: instructions as unknown as SystemModelMessage[] }),
        messages: asModel(prompt.filter((message, at) => !leads(message, at))),
      }
    },
    async onStepEnd({ model, finishReason, usage, response }) {
      try {
        const [first, ...rest] = asSdk(response.messages).flatMap(toLedger)
        if (first === undefined) return
        const { inputTokens, outputTokens, inputTokenDetails, outputTokenDetails } = usage
        const told = {
          inputTokens,
          outputTokens,
          cacheReadTokens: inputTokenDetails?.cacheReadTokens,
          cacheWriteTokens: inputTokenDetails?.cacheWriteTokens,
          reasoningTokens: outputTokenDetails?.reasoningTokens,
        }
        const isAnswer = first.role === 'assistant'
        const attributes = { model: model.modelId, responseId: response.id, finishReason, usage: told }
        await ledger.append(conversationId, [
          { ...first, ...(isAnswer ? { attributes } : {}), ...(isAnswer && answers !== undefined ? { answers } : {}) },
          ...rest,
        ])
      } catch (error) {
        tell(error)
      }
    },
  }
}
