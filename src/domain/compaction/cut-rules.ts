/**
 * Legal positions to cut the history: between two messages, if no rule forbids it. Each rule is a function in one list.
 * A cut at `at` puts messages 0…at-1 on one side and the rest on the other. If a rule forbids a cut, it moves back,
 * never forward.
 */
import { callGroups, type CallGroup } from '../conversation/call-groups.js'
import type { MessageBody } from '../values/message.js'

interface History {
  readonly messages: readonly MessageBody[]
  readonly groups: readonly CallGroup[]
  readonly chunkSize: number
}

/** A range that must stay together: no cut between its first and its last message. */
interface Stretch {
  readonly first: number
  readonly last: number
}

type CutRule = (history: History) => Stretch[]

// Tool results stay with their call: a call without its result makes the model repeat it.
const resultsStayWithTheirCall: CutRule = ({ groups }) =>
  groups
    .filter((group) => group.results.length > 0)
    .map((group) => ({ first: group.call, last: Math.max(...group.results) }))

// A call without a result blocks cuts after it, but not forever: once `chunkSize` messages follow, it blocks nothing.
const openCallsWait: CutRule = ({ messages, groups, chunkSize }) =>
  groups
    .filter((group) => group.open.length > 0 && messages.length - 1 - group.call < chunkSize)
    .map((group) => ({ first: group.call, last: messages.length }))

const cutRules: readonly CutRule[] = [resultsStayWithTheirCall, openCallsWait]

/** All legal cut positions, ascending. They include 0 and the end, unless a rule forbids them. */
export function legalCuts(messages: readonly MessageBody[], chunkSize: number): number[] {
  const history = { messages, groups: callGroups(messages).groups, chunkSize }
  const forbidden = new Uint8Array(messages.length + 1)
  for (const stretch of cutRules.flatMap((rule) => rule(history)))
    forbidden.fill(1, stretch.first + 1, stretch.last + 1)
  return Array.from(forbidden.keys()).filter((at) => forbidden[at] === 0)
}
