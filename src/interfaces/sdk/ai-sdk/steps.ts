/**
 * The same as the middleware, as visible callbacks of a call: `prepareStep` returns the messages of each step, and
 * `onStepEnd` records its result.
 */
import type { Instructions, ModelMessage, StepResult, SystemModelMessage, ToolSet } from 'ai'
import type { MessageInput } from '../../../domain/values/chat-message.js'
import { checkConversationId, checkOptions, type ListRecordingOptions } from '../options.js'
import { sendList } from '../send-list.js'
import { asPrompt, sdkConverter, type SdkMessage } from '../../../application/model-apis/ai-sdk-messages.js'
import { messagesOfStep } from '../../../application/model-apis/completions.js'

/** Options of `ledgerSteps`. */
export interface LedgerStepsOptions extends ListRecordingOptions {
  /** The conversation. */
  readonly conversationId: string
}

/** The argument of `prepareStep`, with the fields that are used here. */
export interface StepToPrepare {
  /** The completed steps. */
  readonly steps: readonly Pick<StepResult<ToolSet>, 'response' | 'experimental_steeringMessages'>[]
  /** The instructions of the call. */
  readonly initialInstructions: Instructions | undefined
  /** The messages of the call. */
  readonly initialMessages: readonly ModelMessage[]
  /** The messages of the completed steps. */
  readonly responseMessages: readonly ModelMessage[]
  /** Messages that the user added before this step. */
  readonly experimental_steeringMessages?: readonly ModelMessage[]
}

/** A step's messages: the ledger's context. */
export interface PreparedStep {
  /** The instructions of the call, and after them the view of the compacted messages. */
  readonly instructions?: SystemModelMessage[]
  /** All other messages. */
  readonly messages: ModelMessage[]
}

/** The argument of `onStepEnd`, with the fields that are used here. */
export interface EndedStep {
  /** The model. */
  readonly model: { readonly modelId: string }
  /** Why the model stopped. */
  readonly finishReason: string
  /** The token usage of the step. */
  readonly usage: StepResult<ToolSet>['usage']
  /** The response of the step. */
  readonly response: { readonly id: string; readonly messages: readonly ModelMessage[] }
}

/** `generateText({ …, ...ledgerSteps({ ledger, conversationId }) })`. */
export interface LedgerSteps {
  /** Records new messages, and returns the messages of the step. */
  prepareStep(step: StepToPrepare): Promise<PreparedStep>
  /** Records the response of the step with its usage and the context that it answers. */
  onStepEnd(step: EndedStep): Promise<void>
}

// Both types have the same parts; only `ModelMessage` names each of them.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const asSdk = (messages: readonly ModelMessage[]): readonly SdkMessage[] => messages as unknown as readonly SdkMessage[]
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const asModel = (messages: readonly SdkMessage[]): ModelMessage[] => messages as unknown as ModelMessage[]

function instructionsOf(instructions: Instructions | undefined): SystemModelMessage[] {
  if (instructions === undefined) return []
  if (typeof instructions === 'string') return [{ role: 'system', content: instructions }]
  return Array.isArray(instructions) ? instructions : [instructions]
}

/** All messages of the call and its steps in order. */
function allMessages(step: StepToPrepare): ModelMessage[] {
  const { steps, initialMessages, responseMessages, experimental_steeringMessages: steering = [] } = step
  const stepMessages = steps.flatMap(({ response }) => response.messages.length).reduce((sum, count) => sum + count, 0)
  return [
    ...initialMessages,
    ...responseMessages.slice(0, responseMessages.length - stepMessages),
    ...steps.flatMap(({ experimental_steeringMessages: added = [], response }) => [...added, ...response.messages]),
    ...steering,
  ]
}

/**
 * Records the steps of a call in a ledger: `generateText({ …, ...ledgerSteps({ ledger, conversationId }) })`. Do not
 * combine it with a model that has the middleware.
 */
export function ledgerSteps(options: LedgerStepsOptions): LedgerSteps {
  const reportProblem = checkOptions('ledgerSteps', options, ['ledger', 'conversationId', 'keptBy', 'onProblem'])
  const conversationId = checkConversationId(options.conversationId)
  const { ledger, keptBy = 'host' } = options
  let answers: MessageInput['answers']

  return {
    async prepareStep(step) {
      const list = asSdk([...instructionsOf(step.initialInstructions), ...allMessages(step)])
      const sent = await sendList(ledger, { conversationId, list, keptBy }, sdkConverter)
      answers = sent.answers
      const prompt = asPrompt(sent.messages)
      // The AI SDK accepts system messages only as instructions, unless the messages of the call contain some.
      const allowsSystemMessages = step.initialMessages.some(({ role }) => role === 'system')
      const end = prompt.findIndex(({ role }) => role !== 'system')
      const isInstruction = (message: SdkMessage, at: number): boolean =>
        message.role === 'system' && (!allowsSystemMessages || at < end)
      const instructions = prompt.filter(isInstruction)
      return {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        ...(instructions.length === 0 ? {} : { instructions: instructions as unknown as SystemModelMessage[] }),
        messages: asModel(prompt.filter((message, at) => !isInstruction(message, at))),
      }
    },
    async onStepEnd(step) {
      try {
        const [first, ...rest] = messagesOfStep(step)
        if (first === undefined) return
        const isAnswer = first.role === 'assistant' && answers !== undefined
        await ledger.append(conversationId, [{ ...first, ...(isAnswer ? { answers } : {}) }, ...rest])
      } catch (error) {
        reportProblem(error)
      }
    },
  }
}
