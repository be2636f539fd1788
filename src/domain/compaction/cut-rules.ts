/**
 * Where history may be cut: between two messages, where no rule objects. One small function a rule, one list. A cut at
 * `at` leaves messages 0…at-1 on one side and the rest on the other. The cut moves back to where no rule objects, never
 * forward.
 */
import { callGroups, type CallGroup } from '../conversation/call-groups.js'
import type { MessageBody } from '../values/message.js'

interface History {
  readonly messages: readonly MessageBody[]
  readonly groups: readonly CallGroup[]
  readonly chunkSize: number
}

/** A stretch that no cut may fall into: not between its first and its last message. */
interface Stretch {
  readonly first: number
  readonly last: number
}

type CutRule = (history: History) => Stretch[]

// Tool results stay with their call: an answer without its question makes the model repeat the call.
const resultsStayWithTheirCall: CutRule = ({ groups }) =>
  groups
    .filter((group) => group.results.length > 0)
    .map((group) => ({ first: group.call, last: Math.max(...group.results) }))

// A call whose result is still to come waits for it, but not for ever: once `chunkSize` messages follow, it holds
// nothing back.
const openCallsWait: CutRule = ({ messages, groups, chunkSize }) =>
  groups
    .filter((group) => group.open.length > 0 && messages.length - 1 - group.call < chunkSize)
    .map((group) => ({ first: group.call, last: messages.length }))

const cutRules: readonly CutRule[] = [resultsStayWithTheirCall, openCallsWait]

/** Every index at which a cut may fall, ascending, 0 and the end included where no rule objects. */
export function legalCuts(messages: readonly MessageBody[], chunkSize: number): number[] {
  const history = { messages, groups: callGroups(messages).groups, chunkSize }
  const forbidden = new Uint8Array(messages.length + 1)
  for (const stretch of cutRules.flatMap((rule) => rule(history)))
    forbidden.fill(1, stretch.first + 1, stretch.last + 1)
  return Array.from(forbidden.keys()).filter((at) => forbidden[at] === 0)
}
