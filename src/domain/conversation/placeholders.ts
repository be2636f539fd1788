/**
 * Messages that are rendered but not recorded, because the chat API would reject the recorded ones: a placeholder for a
 * missing result, and a result whose call was compacted. Their tokens count towards the limits like those of any other
 * message.
 */
import type { Configuration, EventData } from '../events/index.js'
import { contentText, type MessageBody } from '../values/message.js'
import type { FindEstimator } from '../values/tokens.js'

type CompactedCalls = EventData<'MessagesPruned'>['carried']['compactedCalls']

/** The parts of the state that rendering a message depends on. */
export interface Rendering {
  readonly configuration: Configuration
  readonly findEstimator: FindEstimator
  readonly compactedCalls: CompactedCalls
}

/** Rendered in place of a result that is not recorded yet. */
export const placeholderFor = (callId: string): MessageBody => ({
  role: 'tool',
  content: '[no result of this call has been recorded so far]',
  toolCallId: callId,
})

/**
 * A result whose call was compacted, as a user message that names the call and its batch.
 * @param rendererVersion since version 2 all content parts are copied; version 1 only described parts other than text
 */
export function compactedCallResult(
  message: MessageBody,
  compactedCalls: CompactedCalls,
  rendererVersion: number,
): MessageBody {
  const compacted = compactedCalls.find((call) => call.callId === message.toolCallId)
  const call =
    compacted === undefined
      ? `the call ${message.toolCallId ?? ''}`
      : `the call ${compacted.name} (${compacted.callId}), which is summarized in ${compacted.batchId}`
  const head = `[late result of ${call}]`
  const keepsParts = rendererVersion >= 2 && typeof message.content !== 'string' && message.content !== null
  return {
    role: 'user',
    content: keepsParts
      ? [{ type: 'text', text: head }, ...message.content]
      : `${head}\n${contentText(message.content)}`,
  }
}

/** Label of a message in a context that is not recorded, instead of its id. `explain` recognizes it. */
export const NOT_RECORDED_LABEL = 'not recorded'
